/** How the benches write their numbers. */
export function milliseconds(ms: number): string {
  if (ms < 0.01) return `${(ms * 1000).toFixed(2)} µs`;
  return ms < 10 ? `${ms.toFixed(2)} ms` : `${Math.round(ms)} ms`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

export function times(ratio: number): string {
  return `${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)}x`;
}

/** A ratio, its target, and whether it was met. */
export function verdict(ratio: number, atLeast: number): string {
  return `${times(ratio)} (target ${atLeast}x: ${ratio >= atLeast ? "met" : "MISSED"})`;
}
