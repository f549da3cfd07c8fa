import { type Agent, type AgentNotice, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { lifecycleNotice } from "../run/extension-errors.ts";
import type { ExtensionHost, ExtensionModels } from "../run/extension-host.ts";
import type { OpenTestSessionOptions } from "./open-test-session-options.ts";
import { scriptedUi, type UICall } from "./scripted-ui.ts";

/** What a test looks at afterwards. */
export interface TestRecord {
  notices: AgentNotice[];
  ui: UICall[];
  isShutdown: boolean;
}

export interface TestHostOptions {
  options: OpenTestSessionOptions;
  record: TestRecord;
  cwd: string;
  session: Session;
  agent: () => Agent | undefined;
  model: CatalogueModel;
  models: ExtensionModels;
}

/** A front end whose user follows a script. */
export function testHost(parts: TestHostOptions): ExtensionHost {
  const { options, record, cwd, session, agent, model, models } = parts;
  const onNotice = (notice: AgentNotice) => void record.notices.push(notice);
  return {
    mode: options.mode ?? (options.ui === undefined ? "print" : "rpc"),
    cwd,
    lifecycle: new Lifecycle<LifecycleEvents>({
      rules: lifecycleEventRules,
      onNotice: (notice) => onNotice(lifecycleNotice(notice)),
    }),
    ui: options.ui === undefined ? undefined : scriptedUi(options.ui, record.ui),
    session: () => session,
    agent,
    model: () => model,
    models: async () => models,
    control: options.control,
    shutdown: () => {
      record.isShutdown = true;
    },
    isProjectTrusted: () => options.isProjectTrusted ?? true,
    flag: (name) => options.flags?.[name],
    onNotice,
  };
}
