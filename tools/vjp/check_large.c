#include "check.h"
int64_t check_large(checks *c, bool dry) { (void)c; (void)dry; return 0; }
