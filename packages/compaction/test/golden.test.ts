import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentText } from "@bonsai-agent/messages";
import type { ProjectionItem, Session } from "@bonsai-agent/session";
import { type History, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { CompactionPolicy } from "../src/host.ts";
import {
  type CompactionReason,
  type CompactionResult,
  type CompactionSettingsInput,
  compactionSettings,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

/**
 * One folder for each telling situation. `history.txt`: lines `key: value` (settings as JSON), an empty line, then the
 * history in its notation. `plan.txt` and `projection-after.txt` are compared, and written by `vitest run golden -u`.
 */
const golden = join(import.meta.dirname, "golden");

interface Situation {
  reason: CompactionReason;
  settings: CompactionSettingsInput;
  policy: Partial<CompactionPolicy>;
  window?: number;
  notation: string;
}

test.each(readdirSync(golden))("%s", async (name) => {
  const situation = situationOf(readFileSync(join(golden, name, "history.txt"), "utf8"));
  const past = history(situation.notation);
  const options = optionsFor(situation, past.session);
  const plan = planCompaction(options);
  await expect(planPicture(plan, past)).toMatchFileSnapshot(join(golden, name, "plan.txt"));
  const summariser = scriptedSummariser();
  const result = await runCompaction({ ...options, summariser });
  const after = [`${result.status} by ${result.rung ?? "nothing"}`, "", ...projectionLines(past, result), ""];
  await expect(after.join("\n")).toMatchFileSnapshot(join(golden, name, "projection-after.txt"));
});

function situationOf(text: string): Situation {
  const [head = "", notation = ""] = text.split(/\n\n([\s\S]*)/);
  const fields = new Map(head.split("\n").map((line) => [line.split(": ")[0], line.replace(/^[^:]*: /, "")]));
  const window = fields.get("window");
  return {
    reason: (fields.get("reason") ?? "manual") as CompactionReason,
    settings: JSON.parse(fields.get("settings") ?? "{}") as CompactionSettingsInput,
    policy: JSON.parse(fields.get("policy") ?? "{}") as Partial<CompactionPolicy>,
    ...(window === undefined ? {} : { window: Number(window) }),
    notation,
  };
}

function optionsFor({ reason, settings, policy, window }: Situation, session: Session) {
  return {
    session,
    reason,
    settings: compactionSettings(settings, { estimator: "chars4", ...policy }),
    model: window === undefined ? {} : { contextWindow: window },
  };
}

function planPicture(plan: CompactionResult, { name }: History): string {
  const names = (ids: readonly string[]) => ids.map(name).join(" ") || "-";
  return [
    `status      ${plan.status}`,
    `split turn  ${plan.splitTurn ? "yes" : "no"}`,
    `summarised  ${names(plan.summarizedEntryIds)}`,
    `turn prefix ${names(plan.turnPrefixEntryIds)}`,
    `masked      ${names(plan.maskedEntryIds)}`,
    `kept        ${names(plan.keptEntryIds)}`,
    `read        ${plan.readFiles.join(" ") || "-"}`,
    `modified    ${plan.modifiedFiles.join(" ") || "-"}`,
    `tokens      ${plan.tokensBefore} before`,
    "",
  ].join("\n");
}

/** One line for each message that the model sees; the new summary in full. */
function projectionLines({ session, name }: History, { entryId }: CompactionResult): string[] {
  return session.projection().items.map((item) => {
    if (item.entryId === entryId && item.message.role === "compactionSummary")
      return `${item.message.summary.replaceAll(/\[([0-9a-f]{8})\]/g, (_, id) => `[${name(id)}]`)}\n`;
    return `${name(item.entryId).padEnd(4)} ${item.message.role.padEnd(17)} ${preview(item)}`;
  });
}

function preview({ message, edit }: ProjectionItem): string {
  const text =
    "content" in message ? contentText(message.content) : ((message as { summary?: string }).summary ?? "");
  const start = text.replaceAll("\n", " ").slice(0, 60);
  return edit === undefined ? start : `${start} (edited)`;
}
