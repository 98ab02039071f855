#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser.py SITE - open every page of the site in Chromium, from its file, on a screen of 1280 and of 400
pixels, light and dark; then search. Errors in the console, images that are missing or wider than the screen, text
beyond its edge and a colour scheme that does not follow are failures."""

import sys
from pathlib import Path

from chromium import Chromium

WIDTHS = (1280, 400)
SCHEMES = {"light": "default", "dark": "slate"}

MISSING_IMAGES = """
Promise.all([...document.images].map(async image => {
  image.loading = 'eager';
  try { await image.decode(); } catch (error) { return image.src; }
})).then(sources => sources.filter(Boolean))
"""

# Images and text that end beyond the screen's edge, text only if no box around it scrolls; also in what is folded. The
# scheme follows in a moment.
LOOK = """
(async wanted => {
  for (const folded of document.querySelectorAll('details')) folded.open = true;
  for (let i = 0; i < 100 && document.body.dataset.mdColorScheme !== wanted; i++)
    await new Promise(resolve => setTimeout(resolve, 10));
  const wide = document.documentElement.scrollWidth > innerWidth ? ['the page itself'] : [];
  const known = new Map([[document.body, false]]);
  const scrolls = element => {
    if (!known.has(element))
      known.set(element, ['auto', 'scroll'].includes(getComputedStyle(element).overflowX) ||
                         scrolls(element.parentElement));
    return known.get(element);
  };
  const content = document.querySelector('.md-content');
  for (const image of content.querySelectorAll('img'))
    if (image.getBoundingClientRect().right > innerWidth + 1) wide.push(image.src);
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode() && wide.length < 3) {
    const text = walker.currentNode;
    if (!text.data.trim()) continue;
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !scrolls(text.parentElement))
      wide.push(text.data.trim().slice(0, 40));
  }
  return { wide, scheme: document.body.dataset.mdColorScheme };
})
"""

SEARCH = """
(words => new Promise(resolve => {
  const query = document.querySelector('[data-md-component=search-query]');
  document.querySelector('[data-md-toggle=search]').click();
  query.focus();
  query.value = words;
  query.dispatchEvent(new Event('keyup', { bubbles: true }));
  const started = Date.now();
  const look = () => {
    const found = [...document.querySelectorAll('.md-search-result__link')].map(link => link.href);
    if (found.length) resolve(found);
    else if (Date.now() - started > 20000) resolve([]);
    else setTimeout(look, 50);
  };
  look();
}))
"""


def faults_of(browser, page):
    browser.show(WIDTHS[0], "light")
    browser.open(page.as_uri())
    for image in browser.evaluate(MISSING_IMAGES):
        yield f"missing image {image}"
    for width in WIDTHS:
        for scheme, name in SCHEMES.items():
            browser.show(width, scheme)
            seen = browser.evaluate(f"({LOOK})('{name}')")
            if seen["scheme"] != name:
                yield f"{width} {scheme}: the colour scheme is {seen['scheme']}"
            for text in seen["wide"]:
                yield f"{width} {scheme}: wider than the screen: {text}"
    yield from browser.errors()


def main(site):
    pages = sorted(path for path in Path(site).resolve().rglob("*.html")
                   if path.name != "404.html")  # which only a server shows, with addresses from its root
    if not pages:
        sys.exit(f"{site} has no pages")
    browser = Chromium()
    faults = 0
    try:
        for page in pages:
            for fault in faults_of(browser, page):
                print(f"{page.relative_to(Path(site).resolve())}: {fault}")
                faults += 1
        browser.open((Path(site).resolve() / "index.html").as_uri())
        operator = next(page.stem for page in pages if page.stem.endswith("_backward"))
        found = browser.evaluate(f"({SEARCH})('{operator}')")
        if not any(operator in link for link in found):
            print(f"index.html: a search for {operator} found {found}")
            faults += 1
    finally:
        browser.close()
    print(f"{len(pages)} pages, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
