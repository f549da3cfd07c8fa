/** What tokens of a request cost, cheapest last: the order in which they are drawn, from below. */
export const priceClasses = [
  { name: "cacheRead", label: "Cache read", colour: "--cache-read" },
  { name: "cacheWrite", label: "Cache written", colour: "--cache-write" },
  { name: "input", label: "Fresh", colour: "--fresh" },
] as const;

export type PriceClass = (typeof priceClasses)[number];
