/** Maximum time of a slice: a pressed key waits no longer. */
const SLICE_MS = 6;

/**
 * Runs steps of long work a slice at a time, between the keys.
 * @param firstMs milliseconds before the first step
 * @param waitMs returns the milliseconds to wait before the next call of it; 0 continues the steps
 * @returns a function that ends the work
 */
export function betweenKeys(steps: Iterator<unknown>, firstMs = 1, waitMs = () => 0): () => void {
  const run = () => {
    const heldMs = waitMs();
    if (heldMs === 0 && endsInSlice(steps)) return;
    timer = setTimeout(run, heldMs || 1).unref();
  };
  let timer = setTimeout(run, firstMs).unref();
  return () => clearTimeout(timer);
}

function endsInSlice(steps: Iterator<unknown>): boolean {
  const until = performance.now() + SLICE_MS;
  do {
    if (steps.next().done === true) return true;
  } while (performance.now() < until);
  return false;
}
