/** The API server's way to refuse. */
const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout"
}

export const reasonOf = (status: number): string => reasons[status] ?? ""

export const statusOf = (refusal: { readonly status: number; readonly reason: string; readonly message: string }) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  code: refusal.status,
  reason: refusal.reason,
  message: refusal.message
})
