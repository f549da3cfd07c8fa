import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { ExtensionHost, ExtensionMode, FlagValue, FrontEndUI } from "@bonsai-agent/extension";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { AgentCall } from "../invocation.ts";
import { isTrusted } from "../trust.ts";
import type { ModelShop } from "../work/model-shop.ts";
import type { AgentSeat } from "./agent-seat.ts";

export interface AgentExtensionHostOptions {
  call: AgentCall;
  home: string;
  lifecycle: Lifecycle<LifecycleEvents>;
  shop: ModelShop;
  seat: AgentSeat;
  ui: FrontEndUI | undefined;
  /** Their values, once the command line was read again. */
  flags: () => ReadonlyMap<string, FlagValue>;
  onNotice: (notice: AgentNotice) => void;
}

/** What the extensions of an agent's call get of it. */
export function agentExtensionHost(options: AgentExtensionHostOptions): ExtensionHost {
  const { call, home, lifecycle, seat, ui, flags, onNotice } = options;
  const { shelf, models } = options.shop;
  const { cwd } = call.io;
  return {
    mode: modes[String(call.options.mode)] ?? "print",
    cwd,
    lifecycle,
    ui,
    get control() {
      return seat.control;
    },
    session: () => seat.agent?.session,
    agent: () => seat.agent,
    models: async () => ({ catalogue: shelf.catalogue, keys: shelf.keys, client: models }),
    shutdown: () => seat.shutdown(),
    isProjectTrusted: () => isTrusted(cwd, home),
    flag: (name) => flags().get(name),
    onNotice,
    onEntry: (entry) => ui?.showEntry?.(entry),
  };
}

const modes: Readonly<Record<string, ExtensionMode>> = {
  text: "print",
  json: "json",
  rpc: "rpc",
  tui: "tui",
};
