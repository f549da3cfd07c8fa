/** What a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date. Undefined where it does not. */
export function retryAfterMs(headers: Headers | undefined, nowMs: number = Date.now()): number | undefined {
  const ms = headers?.get("retry-after-ms")?.trim();
  if (ms && Number.isFinite(Number(ms))) return Math.max(0, Number(ms));
  const after = headers?.get("retry-after")?.trim();
  if (!after) return undefined;
  const waitMs = Number.isFinite(Number(after)) ? Number(after) * 1_000 : Date.parse(after) - nowMs;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs)) : undefined;
}
