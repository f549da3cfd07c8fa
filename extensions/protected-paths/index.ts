import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { changedFiles, lineOf, shown } from "@bonsai-agent/permission-gate/tool-call";
import { type ChangedPath, changedByCommand } from "./changed-by-command.ts";
import { Places } from "./places.ts";
import { parseRules, type Rule } from "./rules.ts";

const LIST = join(".bonsai", "protected-paths");

const RUN = "Run once";
const REFUSE = "Do not run";
const ADVICE = "Do not change it. If the task requires a change, ask the user to make it.";
const UNSURE_ADVICE =
  "This command may change it. Use a command that only reads it, or ask the user to run this one.";

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
  bonsai.on("tool_call", async (call, ctx) => {
    const rules = rulesOf(ctx, own());
    const places = new Places({ cwd: ctx.cwd, rules });
    const line = lineOf(call);
    const changed: ChangedPath[] = [
      ...changedFiles(call).map((path) => ({ path, cwd: ctx.cwd, isWhole: false, isSure: true })),
      ...(line === undefined ? [] : changedByCommand(line, ctx.cwd)),
    ];
    const found = changed.flatMap((each) => {
      const place = places.protectedAt(each);
      return place === undefined ? [] : [{ ...each, place }];
    });
    const worst = found.find(({ isSure }) => isSure) ?? found[0];
    if (worst === undefined) return undefined;
    const { path, place, isSure } = worst;
    const how = place.path === path ? path : `${path} (a link to ${place.path})`;
    const why = `${how} is protected by the rule ${place.rule.text}.`;
    if (!isSure && ctx.hasUI) {
      const title = `Run this command? It may change a protected file.\n\n${shown(line ?? call.toolName, 2_000)}\n\n${shown(why, 2_000)}`;
      const options = ctx.signal === undefined ? {} : { signal: ctx.signal };
      if ((await ctx.ui.select(title, [RUN, REFUSE], options)) === RUN) return undefined;
    }
    return { block: true, reason: `${why} ${isSure ? ADVICE : UNSURE_ADVICE}` };
  });
}

/** The default rules, then the user's, the project's and those of the command line. */
function rulesOf({ cwd, isProjectTrusted }: ExtensionContext, own: readonly string[]): Rule[] {
  const home = process.env.BONSAI_HOME || join(homedir(), ".bonsai");
  const projectList = linesOf(join(cwd, LIST));
  // An untrusted project must not free paths.
  const believed = isProjectTrusted()
    ? projectList
    : projectList.filter((line) => !line.trim().startsWith("!"));
  return [
    ...parseRules(DERIVED.split(" "), { isDerived: true }),
    ...parseRules([".git/", ...SECRETS.split(" ")]),
    ...parseRules(linesOf(join(home, "protected-paths"))),
    ...parseRules(believed),
    ...parseRules(own),
    // The agent must not change the rules.
    ...parseRules([`/${LIST}`]),
    ...parseRules([join(home, "protected-paths")], { from: "root" }),
  ];
}

/** @throws if the file exists but cannot be read: a guard that throws refuses */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
