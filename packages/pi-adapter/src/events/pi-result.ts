type Result = Readonly<Record<string, unknown>>;

/** Results of handlers that were written for pi, in our shapes; a string is a notice about what cannot be done. */
export const piResults: Readonly<Record<string, (result: Result) => Result | string | undefined>> = {
  tool_call: ({ block, reason, terminate }) =>
    block === true ? { block, terminate, ...(reason === undefined ? {} : { reason }) } : undefined,
  session_before_fork: ({ cancel }) => (cancel === true ? { cancel } : undefined),
  user_bash: userBashResult,
  turn_end: ({ entries, continue: goesOn }) =>
    Array.isArray(entries) || goesOn === true
      ? "its handler of turn_end asks for entries or for another request; use appendEntry, sendMessage or sendUserMessage"
      : undefined,
};

/** Operations are the same here. Of a result, pi wants less to be said. */
function userBashResult({ result, operations }: Result): Result | undefined {
  if (operations !== undefined && operations !== null) return { operations };
  if (typeof result !== "object" || result === null) return undefined;
  const { output = "", exitCode, cancelled = false, truncated = false, fullOutputPath } = result as Result;
  return {
    result: {
      output: String(output),
      cancelled,
      truncated,
      ...(typeof exitCode === "number" ? { exitCode } : {}),
      ...(typeof fullOutputPath === "string" ? { fullOutputPath } : {}),
    },
  };
}
