import { resolve } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { OwnScripts } from "./own-scripts.ts";
import { changedFiles, lineOf, shown } from "./tool-call.ts";
import { type Objection, objections } from "./verdict.ts";

const ONCE = "Run once";
const ALWAYS = "Always allow this exact command in this session";
const NO = "Do not run";

/** Asks before the model runs a command, unless the command only reads or runs an unchanged script of the project. */
export default function permissionGate(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("gate-also", {
    type: "string",
    description: "Also ask before commands that match this regular expression. Default: BONSAI_GATE_ALSO",
  });
  bonsai.registerFlag("gate-allow", {
    type: "string",
    description:
      "Run a command without asking if this regular expression matches the whole command. Default: BONSAI_GATE_ALLOW",
  });
  const also = () => pattern(bonsai.getFlag("gate-also") || process.env.BONSAI_GATE_ALSO, "gate-also");
  const allow = () => pattern(bonsai.getFlag("gate-allow") || process.env.BONSAI_GATE_ALLOW, "gate-allow");
  const allowed = new Set<string>();
  const edited = new Set<string>();
  let since = Date.now();
  bonsai.on("session_start", (_event, { sessionManager }) => {
    allowed.clear();
    since = Math.min(since, Date.parse(sessionManager.getHeader().timestamp));
  });

  // Parallel calls are asked about one after the other, so that "always" counts for the next one.
  let asking: Promise<unknown> = Promise.resolve();
  bonsai.on("tool_call", async (call, ctx) => {
    const line = lineOf(call);
    if (line === undefined) {
      for (const file of changedFiles(call)) edited.add(resolve(ctx.cwd, file));
      return;
    }
    const [isAsked, isAllowed] = [also(), allow()];
    const found = objections(line, {
      scripts: new OwnScripts({ root: ctx.cwd, since, edited }),
      folder: ctx.cwd,
      isAsked: (command) => isAsked?.test(command) === true,
      isAllowed: (command) => isAllowed?.test(command) === true,
    });
    if (found.length === 0) return;
    const answer = asking.then(() => permission({ line, objections: found, allowed, ctx }));
    asking = answer.catch(() => {});
    return await answer;
  });
}

/** @throws Error for an invalid expression: a guard that throws refuses */
function pattern(source: unknown, name: string): RegExp | undefined {
  if (typeof source !== "string") return undefined;
  try {
    return new RegExp(name === "gate-allow" ? `^(?:${source})$` : source);
  } catch (error) {
    throw new Error(`${name} is not a valid regular expression: ${source}`, { cause: error });
  }
}

interface Question {
  line: string;
  objections: readonly Objection[];
  /** Lines that the user always allows, with their reasons. */
  allowed: Set<string>;
  ctx: ExtensionContext;
}

async function permission({ line, objections, allowed, ctx }: Question): Promise<Refusal | undefined> {
  const reasons = objections.map(({ command, reason }) => `${shown(command)}: ${reason}`).join("; ");
  // With the reasons: a script that changes again has a new one.
  const key = `${line}\n${reasons}`;
  if (allowed.has(key)) return undefined;
  if (!ctx.hasUI) return refusal(reasons, "No user is present to allow this command");
  const title = `Run this command?\n\n${shown(line, 2_000)}\n\n${reasons}`;
  const choice = await ctx.ui.select(title, [ONCE, ALWAYS, NO], {
    signal: ctx.signal,
    permissions: ["allow_once", "allow_always", "reject_once"],
  });
  if (choice === ALWAYS) allowed.add(key);
  return choice === ONCE || choice === ALWAYS ? undefined : refusal(reasons, "The user refused this command");
}

interface Refusal {
  block: true;
  reason: string;
}

function refusal(reasons: string, why: string): Refusal {
  const advice = "Do not work around this. Continue without the command, or explain why you need it.";
  return { block: true, reason: `${why} (${reasons}). ${advice}` };
}
