import { type AgentNotice, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ExtensionHost } from "../src/host/index.ts";

/** A host without agent, session and models. */
export function bareHost(): ExtensionHost & { notices: AgentNotice[] } {
  const notices: AgentNotice[] = [];
  return {
    notices,
    mode: "print",
    cwd: "/project",
    lifecycle: new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules }),
    session: () => undefined,
    agent: () => undefined,
    models: () => Promise.reject(new Error("There are no models.")),
    shutdown() {},
    isProjectTrusted: () => true,
    flag: () => undefined,
    onNotice: (notice) => notices.push(notice),
  };
}
