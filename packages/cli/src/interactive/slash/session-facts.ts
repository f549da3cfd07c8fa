import { existsSync, statSync } from "node:fs";
import type { AgentState } from "@bonsai-agent/agent";
import { costText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { AgentHost } from "../../call/agent-host.ts";
import { liveCompactions } from "../../views/compaction-record.ts";
import { age, bytes, count, percent, sizeText } from "../../views/numbers.ts";
import { FactCounter, freeAmong } from "../../views/session-facts.ts";
import type { SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { wholePath } from "../panels/panel-frame.ts";

export const sessionCommand: SlashCommand = {
  name: "session",
  description: "Show file, id, entries, tokens, cost and compactions of this session",
  worksWhileBusy: true,
  run(_args, { host, notify }) {
    const rows = sessionRows(host);
    const nameWidth = Math.max(...rows.map(([name]) => name.length));
    const lines = rows.map(([name, value]) => `${name.padEnd(nameWidth)}  ${value}`);
    notify(lines.join("\n"));
  },
};

/** What is known of a session, by name. */
function sessionRows({ agent: { session, state }, app }: AgentHost): [string, string][] {
  const nowMs = app.call.io.now();
  const isFree = freeAmong([...app.models.catalogue.models, state.model]);
  const counter = new FactCounter(session.header);
  for (const { entry } of session.scan()) counter.add(entry);
  const { counts, kinds: words, usage, cost, models, lastActivity } = counter.facts();
  const entries = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const kinds = words.map(([word, many]) => `${word} ${count(many)}`);
  const { context, model, askedThinking: thinking } = state;
  const isNone = isNoModel(model);
  return [
    ["name", session.name ?? "none (set one with /name)"],
    ["id", session.id],
    ["file", fileWords(session)],
    ["folder", wholePath(session.cwd)],
    ["started", age(Date.parse(session.header.timestamp), nowMs)],
    ["last activity", lastActivity === null ? "none" : age(Date.parse(lastActivity), nowMs)],
    ["entries", `${count(entries)}${kinds.length === 0 ? "" : ` (${kinds.join(", ")})`}`],
    ["compactions", compactionWords(session, counts.compaction ?? 0)],
    [
      "model",
      isNone
        ? "none"
        : `${model.provider}/${model.id}${thinking === undefined ? "" : `, thinking ${thinking}`}`,
    ],
    ["answers", models.map((each) => `${count(each.answers)} from ${each.model}`).join(", ") || "none"],
    ["context", contextWords(isNone ? { ...context, windowTokens: undefined } : context)],
    [
      "tokens",
      `in ${count(usage.input)}, cache read ${count(usage.cacheRead)}, cache write ${count(usage.cacheWrite)}, out ${count(usage.output)}`,
    ],
    ["cost", costText(cost.cost(isFree))],
    ...(session.header.parentSession === undefined
      ? []
      : [["fork of", wholePath(session.header.parentSession)] as [string, string]]),
  ];
}

/** Some are undone or on another branch. */
function compactionWords(session: Session, all: number): string {
  const { length } = liveCompactions(session);
  return length === all ? count(all) : `${count(all)}, ${count(length)} active on this branch`;
}

function fileWords({ file }: Session): string {
  if (file === undefined) return "none, the session is only in memory";
  return existsSync(file)
    ? `${wholePath(file)} (${bytes(statSync(file).size)})`
    : `${wholePath(file)} (created with the first message)`;
}

function contextWords({ tokens, windowTokens, estimatedTokens }: AgentState["context"]): string {
  const size = sizeText({ tokens, estimatedTokens });
  return windowTokens === undefined
    ? `${size}, window unknown`
    : `${size} of ${count(windowTokens)} (${percent(tokens, windowTokens)})`;
}
