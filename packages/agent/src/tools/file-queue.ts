/** Owner of whose turn it is to change a file. Of the process, not of an agent: sub-agents change the same files. */
const latest = new Map<string, Promise<unknown>>();

/** Runs after everything that was asked for the same path before, whether that worked or not. */
export async function inFileQueue<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const earlier = latest.get(path) ?? Promise.resolve();
  const own = earlier.then(work);
  const settled = own.catch(() => {});
  latest.set(path, settled);
  try {
    return await own;
  } finally {
    if (latest.get(path) === settled) latest.delete(path);
  }
}
