import { INSTEAD, type ModuleExports, type VirtualModules } from "@bonsai-agent/extension";
import { insteadOfAgentCore, insteadOfAi, insteadOfCodingAgent } from "./modules/instead.ts";

type Loaders = Record<string, () => Promise<ModuleExports>>;

const codingAgent = () => told(import("./modules/coding-agent.ts"), insteadOfCodingAgent);
const ai = () => told(import("./modules/ai.ts"), insteadOfAi);
const agentCore = () => told(import("./modules/agent-core.ts"), insteadOfAgentCore);
const tui = () => import("@earendil-works/pi-tui");
const typebox = () => import("typebox");
const value = () => import("typebox/value");
const compiler = () => import("./modules/typebox-compiler.ts");

/** The names under which pi was published, then and now. */
const scopes = ["@earendil-works", "@mariozechner"] as const;

const packages: Loaders = {
  "pi-coding-agent": codingAgent,
  "pi-ai": ai,
  "pi-ai/compat": ai,
  "pi-agent-core": agentCore,
  "pi-tui": tui,
};

const typeboxes: Loaders = {
  typebox,
  "typebox/type": typebox,
  "typebox/value": value,
  "typebox/compile": compiler,
  "@sinclair/typebox": typebox,
  "@sinclair/typebox/value": value,
  "@sinclair/typebox/compiler": compiler,
};

const modules: VirtualModules = {
  ...Object.fromEntries(
    scopes.flatMap((scope) =>
      Object.entries(packages).map(([name, loader]) => [`${scope}/${name}`, loader] as const),
    ),
  ),
  ...typeboxes,
};

async function told(
  module: Promise<ModuleExports>,
  instead: Readonly<Record<string, string>>,
): Promise<ModuleExports> {
  return { ...(await module), [INSTEAD]: instead };
}

/** What pi's packages and TypeBox resolve to in an extension, each loaded when it is first imported. */
export function piModules(): VirtualModules {
  return modules;
}
