/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - one operator for each kind, for tests of what does not depend on a formula: calls,
 * refusals, plans, threads, files, command lines.
 *
 * Where any operator serves, tests take all of them, by their kinds (kinds.h). These are for tests
 * that spell the names of tensors and attributes, or state results that are seen at a glance. They
 * are named here and nowhere else: a test says which kind it needs. test_kinds.c checks that each
 * is of its kind; tests/tool/completions.sh reads the names from here. scripts/operator_names.py
 * finds operators that are named elsewhere.
 */
#ifndef VJP_TESTS_SAMPLES_H
#define VJP_TESTS_SAMPLES_H

/* src, diff_dst -> diff_src, which is diff_dst where src > 0, else +0; use_dst */
#define SAMPLE_MAP "relu_backward"

/* the same, with numbers that have no default: alpha and beta. diff_src is alpha * diff_dst where
 * 0 < alpha * src + beta < 1, else +0 */
#define SAMPLE_NUMBERS "hard_sigmoid_backward"

/* the same, with a switch that changes the result: use_dst. With it, diff_src is
 * diff_dst * src * (1 - src) */
#define SAMPLE_SWITCH "sigmoid_backward"

/* src, slope, diff_dst -> diff_src, diff_slope; slope is broadcast, diff_slope a sum and optional;
 * data_format */
#define SAMPLE_FOLD "prelu_backward"

/* src, slope -> dst; data_format, and per_channel_broadcast to switch it off */
#define SAMPLE_FORMAT "prelu"

/* diff_dst, dst, mask, length -> diff_src; mask and length are optional, diff_src may be wide;
 * axis. diff_src is dst * (diff_dst - the row's sum of diff_dst * dst) */
#define SAMPLE_ROWS "softmax_backward"

/* src -> dst, the root of src, which is NaN where src < 0 */
#define SAMPLE_NAN "sqrt"

/* src, mask, length -> dst, stats; all but src and dst are optional. dst is exp(src) over the row's
 * sum of it */
#define SAMPLE_STATS "softmax"

/* src, gamma, rstd, diff_dst -> diff_src, diff_gamma; all but src and diff_dst are optional. rstd is
 * what the forward pass keeps: 1 / sqrt(mean of squares + 1e-5) */
#define SAMPLE_KEPT "rms_norm_backward"

/* src, gamma, beta -> dst, mean, rstd, normalized; the last is optional, and other libraries lack
 * it */
#define SAMPLE_EXTRA "layer_norm"

/* Titles, and what the names of benchmark cases begin with. */
#define SAMPLE_MAP_TITLE "ReLUBackward"
#define SAMPLE_MAP_CASE "relu"
#define SAMPLE_FOLD_CASE "prelu"
#define SAMPLE_ROWS_CASE "softmax"

#endif
