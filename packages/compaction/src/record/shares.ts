/** One of several parts that divide a budget. */
export interface Part {
  /** The tokens of the whole part. */
  need: number;
  /** The weight of the part in the division. */
  share: number;
}

/** Divides tokens among parts. A part that needs less than its share leaves the rest to the others. */
export function dividedTokens<Name extends string>(
  tokens: number,
  parts: Record<Name, Part>,
): Record<Name, number> {
  const given: Partial<Record<Name, number>> = {};
  let open = Object.entries<Part>(parts) as [Name, Part][];
  let left = Math.max(0, tokens);
  for (;;) {
    const perShare = left / open.reduce((sum, [, { share }]) => sum + share, 0);
    const fits = open.filter(([, { need, share }]) => need <= perShare * share);
    for (const [name, { need }] of fits) given[name] = need;
    left -= fits.reduce((sum, [, { need }]) => sum + need, 0);
    open = open.filter(([name]) => given[name] === undefined);
    if (fits.length > 0 && open.length > 0) continue;
    for (const [name, { share }] of open) given[name] = Math.floor(perShare * share);
    return given as Record<Name, number>;
  }
}
