import { createContext, Script } from "node:vm";
import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import { shellCommands } from "@bonsai-agent/extension/shell";
import { type Danger, dangersOf, lineOfWords, worded } from "./dangers.ts";

const ONCE = "Run once";
const ALWAYS = "Always allow this exact command in this session";
const NO = "Do not run";

/** Asks before the model runs a command that destroys, publishes, or takes more power. */
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
  const never = () => pattern(bonsai.getFlag("gate-allow") || process.env.BONSAI_GATE_ALLOW, "gate-allow");
  const allowed = new Set<string>();
  bonsai.on("session_start", () => allowed.clear());

  // Several calls side by side are asked about one after the other, so that "always" holds for the next.
  let asking: Promise<unknown> = Promise.resolve();
  bonsai.on("tool_call", async ({ input }, ctx) => {
    const line = lineOf(input.command);
    if (line === undefined) return;
    const all = dangersIn(line, also()).filter(({ command }) => !never()?.test(command));
    if (all.length === 0) return;
    const answer = asking.then(() => permission({ line, dangers: all, allowed, ctx }));
    asking = answer.catch(() => {});
    return await answer;
  });
}

/** What a tool is to run: any tool that takes a `command` runs it. */
function lineOf(command: unknown): string | undefined {
  if (typeof command === "string") return command;
  if (!Array.isArray(command)) return undefined;
  return lineOfWords(command);
}

/** An expression that takes longer on a command goes round in circles. */
const MAX_TEST_MS = 500;

interface Pattern {
  test(command: string): boolean;
}

/** @throws Error for what is no regular expression, and where one takes too long: a guard that throws refuses */
function pattern(source: unknown, name: string): Pattern | undefined {
  if (typeof source !== "string") return undefined;
  try {
    const expression = new RegExp(name === "gate-allow" ? `^(?:${source})$` : source);
    return { test: (command) => testInTime(expression, { command, name }) };
  } catch (error) {
    throw new Error(`${name} is not a valid regular expression: ${source}`, { cause: error });
  }
}

/** Only a script of its own can be broken off in the middle of an expression. */
function testInTime(expression: RegExp, { command, name }: { command: string; name: string }): boolean {
  const sandbox = createContext({ test: () => expression.test(command) });
  try {
    return new Script("test()").runInContext(sandbox, { timeout: MAX_TEST_MS }) as boolean;
  } catch (cause) {
    throw new Error(`Checking this command against ${name} takes too long: ${expression.source}`, { cause });
  }
}

function dangersIn(line: string, also: Pattern | undefined): Danger[] {
  const commands = shellCommands(line);
  const own = commands.map(worded).filter((command) => also?.test(command) === true);
  const all = [
    ...dangersOf(line, commands),
    ...own.map((command) => ({ command, reason: "it matches gate-also" })),
  ];
  return all.filter(({ command }, at) => all.findIndex((each) => each.command === command) === at);
}

interface Question {
  line: string;
  dangers: Danger[];
  /** Grows with each "always". */
  allowed: Set<string>;
  ctx: ExtensionContext;
}

async function permission({ line, dangers, allowed, ctx }: Question): Promise<Refusal | undefined> {
  const open = dangers.filter(({ command }) => !allowed.has(command));
  if (open.length === 0) return undefined;
  const reasons = open.map(({ command, reason }) => `${shown(command)}: ${reason}`).join("; ");
  if (!ctx.hasUI) return refusal(reasons, "No user is present to allow this command");
  const title = `Run this command?\n\n${shown(line, 2_000)}\n\n${reasons}`;
  const options = ctx.signal === undefined ? {} : { signal: ctx.signal };
  const choice = await ctx.ui.select(title, [ONCE, ALWAYS, NO], options);
  if (choice === ALWAYS) for (const { command } of open) allowed.add(command);
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

/** On a terminal: without what would move its cursor. */
function shown(text: string, length = 200): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (char) => (char === "\n" || char === "\t" ? char : "�"));
  return clean.length <= length ? clean : `${clean.slice(0, length)} … (${clean.length} characters)`;
}
