/** An address as it can be told: without user, password and query, which may be secret. */
export function shownAddress(url: string, base?: string): string {
  const parsed = URL.parse(url, base);
  return parsed === null
    ? "an address that is none"
    : `${parsed.origin}${parsed.pathname}`.replace(/\/$/, "");
}
