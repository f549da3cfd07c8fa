import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  type ExtensionAPI,
  type ExtensionContext,
  fileOperations,
  type Message,
} from "@bonsai-agent/extension";
import { type ChangedPath, changedByCommand } from "./changed-by-command.ts";
import { Places } from "./places.ts";
import { parseRules, type Rule } from "./rules.ts";

const LIST = join(".bonsai", "protected-paths");

/** Paths that an agent must not change by itself. Later rules override earlier ones. */
const SECRETS =
  "*.env .env .env.* !.env.example !.env.sample !.env.template !.env.dist *.pem *.p12 *.pfx *.keystore id_rsa id_dsa id_ecdsa id_ed25519 .netrc .pgpass .htpasswd .ssh/ .gnupg/ .aws/ .kube/";
const DERIVED =
  "node_modules/ package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb Cargo.lock Gemfile.lock composer.lock poetry.lock uv.lock Pipfile.lock go.sum flake.lock";

/** Stops the model's tools from changing protected paths. */
export default function protectedPaths(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("protect", {
    type: "string",
    description:
      "More paths to protect, separated by commas; !PATH stops protecting PATH. Default: BONSAI_PROTECT",
  });
  const own = () => String(bonsai.getFlag("protect") || process.env.BONSAI_PROTECT || "").split(",");
  bonsai.on("tool_call", ({ toolCallId, toolName, input }, ctx) => {
    const rules = rulesOf(ctx, own());
    const places = new Places({ cwd: ctx.cwd, rules });
    const changed = [...changedByTool({ toolCallId, toolName, input }, ctx.cwd)];
    if (typeof input.command === "string") changed.push(...changedByCommand(input.command, ctx.cwd));
    for (const each of changed) {
      const found = places.protectedAt(each);
      if (found === undefined) continue;
      const how = found.path === each.path ? found.path : `${each.path} (a link to ${found.path})`;
      const advice = "Do not change it. If the task requires a change, ask the user to make it.";
      return { block: true, reason: `${how} is protected by the rule ${found.rule.text}. ${advice}` };
    }
    return undefined;
  });
}

interface Call {
  toolCallId: string;
  toolName: string;
  input: Record<string, unknown>;
}

/** By the shape of the arguments, so that tools of other extensions are held too. */
function changedByTool({ toolCallId, toolName, input }: Call, cwd: string): ChangedPath[] {
  const call = { type: "toolCall", id: toolCallId, name: toolName, arguments: input };
  const message = { role: "assistant", content: [call] } as unknown as Message;
  return fileOperations([message]).modified.map((path) => ({ path, cwd, isWhole: false }));
}

/** The defaults, then the user's list, the project's, and those of the command line. */
function rulesOf({ cwd, isProjectTrusted }: ExtensionContext, own: readonly string[]): Rule[] {
  const home = process.env.BONSAI_HOME || join(homedir(), ".bonsai");
  const projectList = linesOf(join(cwd, LIST));
  // What is free in a project is for its owner to say, not for whoever wrote it.
  const believed = isProjectTrusted()
    ? projectList
    : projectList.filter((line) => !line.trim().startsWith("!"));
  return [
    ...parseRules(DERIVED.split(" "), { isDerived: true }),
    ...parseRules([".git/", ...SECRETS.split(" ")]),
    ...parseRules(linesOf(join(home, "protected-paths"))),
    ...parseRules(believed),
    ...parseRules(own),
    // Else the guard could be lifted by whom it guards against.
    ...parseRules([`/${LIST}`]),
    ...parseRules([join(home, "protected-paths")], { from: "root" }),
  ];
}

/** @throws what reading throws, unless there is no such file: a guard that throws refuses */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
