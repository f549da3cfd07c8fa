import type { VirtualModules } from "./virtual-modules.ts";

/** Literal imports, because a bundler follows them. */
const modules: VirtualModules = {
  "@bonsai-agent/agent": () => import("@bonsai-agent/agent"),
  "@bonsai-agent/compaction": () => import("@bonsai-agent/compaction"),
  "@bonsai-agent/extension": () => import("@bonsai-agent/extension"),
  "@bonsai-agent/extension/login": () => import("@bonsai-agent/extension/login"),
  "@bonsai-agent/extension/providers": () => import("@bonsai-agent/extension/providers"),
  "@bonsai-agent/lifecycle": () => import("@bonsai-agent/lifecycle"),
  "@bonsai-agent/messages": () => import("@bonsai-agent/messages"),
  "@bonsai-agent/messages/schemas": () => import("@bonsai-agent/messages/schemas"),
  "@bonsai-agent/models": () => import("@bonsai-agent/models"),
  "@bonsai-agent/models/login": () => import("@bonsai-agent/models/login"),
  "@bonsai-agent/models/scripted": () => import("@bonsai-agent/models/scripted"),
  "@bonsai-agent/session": () => import("@bonsai-agent/session"),
  "@bonsai-agent/session/host": () => import("@bonsai-agent/session/host"),
  "@bonsai-agent/session/search": () => import("@bonsai-agent/session/search"),
  "@bonsai-agent/session/store-conformance": () => import("@bonsai-agent/session/store-conformance"),
  zod: () => import("zod"),
  "zod/v4": () => import("zod/v4"),
};

/** The modules that every extension can import without installing them: the host's own instances. */
export function hostModules(): VirtualModules {
  return modules;
}
