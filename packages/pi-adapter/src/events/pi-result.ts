type Result = Readonly<Record<string, unknown>>;

/** Results of handlers that were written for pi, in our shapes; a string is a notice about what cannot be done. */
export const piResults: Readonly<Record<string, (result: Result) => Result | string | undefined>> = {
  tool_call: ({ block, reason }) =>
    block === true ? { block, ...(reason === undefined ? {} : { reason }) } : undefined,
  session_before_fork: ({ cancel }) => (cancel === true ? { cancel } : undefined),
  user_bash: userBashResult,
  turn_end: ({ entries, continue: goesOn }) =>
    Array.isArray(entries) || goesOn === true
      ? "its handler of turn_end asks for entries or for another request; use appendEntry, sendMessage or sendUserMessage"
      : undefined,
};

/** What the extension ran itself is not run again; what should run elsewhere is not run here. */
function userBashResult({ result, operations }: Result): Result | undefined {
  if (operations !== undefined) {
    return {
      block: true,
      reason: "The extension wants to run the command elsewhere, which Bonsai cannot do.",
    };
  }
  const output = (result as { output?: unknown } | undefined)?.output;
  return result === undefined ? undefined : { block: true, reason: String(output ?? "") };
}
