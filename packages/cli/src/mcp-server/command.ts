import { wrongUsage } from "../call/failure.ts";
import type { ExitCode, Invocation } from "../call/invocation.ts";
import { install, remove, status } from "./install.ts";

const actions: Readonly<Record<string, (invocation: Invocation) => Promise<ExitCode | undefined>>> = {
  install,
  remove,
  status,
};

/** Serves MCP on stdin and stdout, or changes the configuration of a client. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const [action] = invocation.args;
  if (action === undefined) return (await import("./serve.ts")).serve(invocation);
  if (Object.hasOwn(actions, action)) return actions[action]!(invocation);
  throw wrongUsage(
    `Unknown action ${JSON.stringify(action)}.`,
    "Use install, remove or status, or none to serve on stdin and stdout.",
  );
}
