# SPDX-License-Identifier: Apache-2.0
"""An array of no library: a DLPack producer over NumPy's memory that counts what it hands out."""

import ctypes

import numpy as np

CPU, CUDA = 1, 2
READ_ONLY = 1
CODES = {"f": 2, "i": 0, "u": 1, "b": 6}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Old(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR]
alive = 0


@DESTRUCTOR
def _destroyed(capsule):
    global alive
    alive -= 1


class StandIn:
    """Settings: device, version (None: of before 1.0), flags, dense (strides NULL), offset."""

    def __init__(self, array, device=(CPU, 0), version=(1, 1), flags=0, dense=False, offset=0,
                 lanes=1, accepts_versions=True):
        self.array, self.device, self.version, self.flags = array, device, version, flags
        self.dense, self.offset, self.lanes = dense, offset, lanes
        self.accepts_versions = accepts_versions
        self.streams = []

    @property
    def dtype(self):
        return self.array.dtype

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        global alive
        if "max_version" in keywords and not self.accepts_versions:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(keywords.get("stream"))
        array, size = self.array, self.array.itemsize
        dims = ctypes.c_int64 * array.ndim
        self.shape = dims(*array.shape)
        self.strides = dims(*(s // size for s in array.strides))
        strides = None if self.dense else self.strides
        tensor = Tensor(array.ctypes.data - self.offset, *self.device, array.ndim,
                        CODES.get(array.dtype.kind, 4), size * 8, self.lanes, self.shape, strides,
                        self.offset)
        if self.version is None:
            self.managed, name = Old(tensor), b"dltensor"
        else:
            self.managed, name = Versioned(*self.version, flags=self.flags, tensor=tensor), b"dltensor_versioned"
        alive += 1
        return new_capsule(ctypes.addressof(self.managed), name, _destroyed)
