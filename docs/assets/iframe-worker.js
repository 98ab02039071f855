// A page opened from a file may not start a worker, and the search is one. Here its script runs in a
// hidden frame instead: what it posts is a message to the page, and the other way round.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<script>" +
        "postMessage = data => parent.dispatchEvent(new parent.CustomEvent('frame', { detail: data }));" +
        `</script><script src="${new URL(url, location.href)}"></script>`;
      addEventListener("frame", event => {
        const message = new MessageEvent("message", { data: event.detail });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.ready = new Promise(resolve => frame.addEventListener("load", () => resolve(frame.contentWindow)));
      document.body.appendChild(frame);
    }

    postMessage(data) {
      this.ready.then(inner => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
