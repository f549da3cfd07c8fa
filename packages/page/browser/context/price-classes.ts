/** What tokens of a request cost, cheapest last: the order in which they are drawn, from below. */
export const priceClasses = [
  { name: "cacheRead", label: "Cache read", colour: "--cache-read" },
  { name: "cacheWrite", label: "Cache write", colour: "--cache-write" },
  { name: "input", label: "Uncached", colour: "--fresh" },
] as const;

export type PriceClass = (typeof priceClasses)[number];
