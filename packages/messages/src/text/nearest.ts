const leastLikeness = 0.35;

/** The candidates that a mistyped word may have meant, likest first. */
export function nearest(word: string, candidates: readonly string[], count: number): string[] {
  const wanted = pairsOf(word);
  return candidates
    .map((candidate) => ({ candidate, likeness: likeness(wanted, pairsOf(candidate)) }))
    .filter((scored) => scored.likeness >= leastLikeness)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, count)
    .map((scored) => scored.candidate);
}

/** Dice's coefficient of the pairs of letters: 1 for the same pairs, 0 for none in common. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return a.size + b.size === 0 ? 0 : (2 * common) / (a.size + b.size);
}

function pairsOf(word: string): Set<string> {
  const letters = word.toLowerCase().replace(/[^a-z0-9]/g, "");
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)),
  );
}
