/** Names that are shown of a long list. */
const most = 8;

/** A list of names; of a long one, those that are most like the one that was looked for. */
export function likeNames(names: readonly string[], wanted: string): string {
  const shown = [...names]
    .sort((a, b) => likeness(b, wanted) - likeness(a, wanted) || (a < b ? -1 : 1))
    .slice(0, most);
  const rest = names.length - shown.length;
  return rest === 0 ? shown.join(", ") : `${shown.join(", ")} and ${rest} more`;
}

/** How many pairs of neighbouring letters two names share. */
function likeness(a: string, b: string): number {
  const known = pairs(b);
  return [...pairs(a)].filter((pair) => known.has(pair)).length;
}

function pairs(name: string): Set<string> {
  const text = name.toLowerCase();
  return new Set([...text].map((letter, at) => letter + (text[at + 1] ?? "")));
}
