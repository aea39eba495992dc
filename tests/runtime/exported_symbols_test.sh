#!/usr/bin/env bash
# exported_symbols_test.sh LIBRARY checks that the shared library exports exactly these functions. A
# missing function would break linked programs, and a new function could never be removed.
set -euo pipefail

expected="\
tunedgemm_activation_name
tunedgemm_bias_name
tunedgemm_context_announce
tunedgemm_context_create
tunedgemm_context_destroy
tunedgemm_context_freeze
tunedgemm_context_report
tunedgemm_context_request
tunedgemm_error_message
tunedgemm_group_kind_name
tunedgemm_matmul
tunedgemm_numerics_name
tunedgemm_order_name
tunedgemm_plan_check
tunedgemm_plan_create
tunedgemm_plan_description
tunedgemm_plan_get_info
tunedgemm_plan_origin_name
tunedgemm_plan_workspace_bytes
tunedgemm_prepare
tunedgemm_problem_parse
tunedgemm_problem_text
tunedgemm_run
tunedgemm_scaling_name
tunedgemm_set_log
tunedgemm_status_name
tunedgemm_type_name
tunedgemm_version"

diff <(echo "$expected") <(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort)
