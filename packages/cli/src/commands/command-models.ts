import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { type ModelRegistry, openModels } from "../call/model-choice.ts";
import { agentCallSettings } from "../call/settings.ts";

/** Runs a command with the models, those of extensions included. */
export async function withCommandModels(
  invocation: Invocation,
  signal: AbortSignal,
  work: (models: ModelRegistry) => Promise<void> | void,
): Promise<undefined> {
  const { io, output } = invocation;
  const { openSessionExtensions } = await import("../call/session-extensions.ts");
  const extensions = await openSessionExtensions({ invocation, signal });
  try {
    const home = bonsaiHome(io.env);
    const settings = agentCallSettings(invocation);
    const own = () => openModels({ io, home, settings, onNotice: (notice) => output.notify(notice) });
    await work(await (extensions?.models() ?? own()));
  } finally {
    await extensions?.close();
  }
}
