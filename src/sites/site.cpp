#include "attnscope/sites/site.h"
