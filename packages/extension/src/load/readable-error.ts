/** What was thrown, as an error whose message and stack are texts: anything can be thrown, also what has no text. */
export function readableError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && isReadable(thrown)) return thrown;
    return new Error(thrown instanceof Error ? unreadable : String(thrown));
  } catch {
    return new Error(unreadable);
  }
}

const unreadable = "It threw something that cannot be read.";

/** Getters may throw. */
function isReadable({ message, stack, cause, name }: Error): boolean {
  return (
    typeof message === "string" &&
    typeof name === "string" &&
    (stack === undefined || typeof stack === "string") &&
    (!(cause instanceof Error) || typeof cause.message === "string")
  );
}
