import { compactionSettings, readContext, sessionEstimate } from "@bonsai-agent/compaction";
import type { ExtensionContextUsage } from "../../api/extension-context.ts";
import type { ScopedHost } from "../scoped-host.ts";

/** Undefined before there is a session. */
export function contextUsage(host: ScopedHost): ExtensionContextUsage | undefined {
  const agent = host.agent();
  if (agent !== undefined) {
    const { tokens, windowTokens = 0, percent = null } = agent.state.context;
    return { tokens, contextWindow: windowTokens, percent };
  }
  const session = host.session();
  if (session === undefined) return undefined;
  const settings = compactionSettings({});
  const { tokens } = readContext({ session, ...sessionEstimate({ session, settings }) });
  const contextWindow = host.model?.()?.contextWindow ?? 0;
  return { tokens, contextWindow, percent: contextWindow === 0 ? null : (tokens / contextWindow) * 100 };
}
