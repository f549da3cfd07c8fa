import {
  type AgentNotice,
  type AgentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import { describeNotice, Lifecycle } from "@bonsai-agent/lifecycle";
import { bonsaiHome } from "@bonsai-agent/session";
import type { AgentCall } from "../invocation.ts";
import { agentCallSettings } from "../settings.ts";
import { debugLog } from "./debug-log.ts";
import { type ModelShop, openModelShop } from "./model-shop.ts";

/** What every session of one call is worked on with. */
export interface Workshop extends ModelShop {
  call: AgentCall;
  home: string;
  cwd: string;
  settings: AgentSettings;
  /** Shared by all agents of the call: who listens once hears all of them. */
  lifecycle: Lifecycle<LifecycleEvents>;
  /** Tells the user; the debug log hears it too. */
  onNotice: (notice: AgentNotice) => void;
}

/** @throws BonsaiError for settings, catalogue and keys that cannot be used. */
export async function openWorkshop(call: AgentCall, tell: (notice: AgentNotice) => void): Promise<Workshop> {
  const { io, options } = call;
  const { cwd, env } = io;
  const home = bonsaiHome({ ...env });
  const settings = agentCallSettings(call);
  const log =
    options.debug === true
      ? debugLog({ home, now: io.now, onFailure: (error) => tell(noLog(error)) })
      : undefined;
  const onNotice = (notice: AgentNotice) => {
    log?.notice(notice);
    tell(notice);
  };
  const warn = ({ code, message }: { code: string; message: string }) =>
    onNotice({ level: "warning", code, message });
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => warn({ code: notice.type, message: describeNotice(notice) }),
  });
  log?.listen(lifecycle);
  const shop = await openModelShop({ io, home, settings, onNotice: warn });
  return { call, home, cwd, settings, ...shop, lifecycle, onNotice };
}

function noLog({ message }: Error): AgentNotice {
  return { level: "warning", code: "log_failed", message: `No debug log is written: ${message}.` };
}
