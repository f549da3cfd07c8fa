/** Tokens in few columns: `950`, `9.5k`, `41k`, `1M`, `1.2M`. */
export function shortTokens(tokens: number): string {
  if (!Number.isFinite(tokens)) return "?";
  if (tokens < 999.5) return String(Math.round(tokens));
  const isThousands = tokens < 999_500;
  const scaled = tokens / (isThousands ? 1_000 : 1_000_000);
  const digits = scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : scaled.toFixed(0);
  return `${digits}${isThousands ? "k" : "M"}`;
}
