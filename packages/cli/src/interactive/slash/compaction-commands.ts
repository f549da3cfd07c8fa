import type { CompactOptions } from "@bonsai-agent/agent";
import { requestOverhead } from "@bonsai-agent/agent/host";
import {
  budgetsFor,
  type CompactionOutcome,
  type CompactionResult,
  contextLimit,
  cutPlaces,
  pinMessage,
  pinnedTexts,
  planCompaction,
  readContext,
  redoLatestUndo,
  undoLatestCompaction,
  unpinMessage,
} from "@bonsai-agent/compaction";
import { redactSecrets } from "@bonsai-agent/messages";
import { resolveEntryId } from "../../call/session-file.ts";
import { compactView } from "../../views/compact-view.ts";
import { compactionName } from "../../views/compaction-record.ts";
import { type Line, span } from "../../views/line.ts";
import { counted, sizeChange } from "../../views/numbers.ts";
import { messagesBefore } from "../../views/plan-view.ts";
import { oneLine, wrap } from "../../views/terminal-text.ts";
import { errorLine } from "../error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList } from "../panels/pick-list.ts";
import { showReport } from "../panels/report-panel.ts";
import { compactionNotice, skippedNotice } from "./compaction-notices.ts";

export const compactCommand: SlashCommand = {
  name: "compact",
  description: "Compact now. A focus tells the summary what to keep; preview shows the plan",
  argumentHint: "[focus|preview]",
  worksWhileBusy: true,
  complete: (prefix) => ("preview".startsWith(prefix) ? [preview] : []),
  run: (args, context) => {
    const { isPreview, ...asked } = askedCompaction(args);
    const whole = withWholeId(asked, context);
    return isPreview ? showPreview(withDigestAlone(whole, context), context) : compactNow(whole, context);
  },
};

const preview = { value: "preview", label: "preview", description: "Show the plan and change nothing" };

/**
 * What stands behind `/compact`: of the bare words in front, `preview` (or `--dry-run`, as outside of a session) asks what would
 * be done, `digest` (or `--digest`) for the digest, `again` for the latest compaction made anew and `--before ENTRY` for a cut
 * there, each once and in any order; all else is the focus. Behind `--` everything is, so that a focus can begin with any word.
 */
export function askedCompaction(args: string): CompactOptions & { isPreview?: true } {
  const asked = new Map<string, string>();
  let rest = args;
  for (;;) {
    const [all = "", bare, dryRun, before] = ASKED_WORD.exec(rest) ?? [];
    const word = bare ?? (dryRun && "preview") ?? (before && "before") ?? "";
    if (word === "" || asked.has(word)) break;
    asked.set(word, before ?? "");
    rest = rest.slice(all.length);
  }
  const focus = rest.replace(/^\s*--(?!\S)/, "").trim();
  const firstKeptEntryId = asked.get("before");
  return {
    ...(asked.has("preview") && { isPreview: true }),
    ...(focus !== "" && { focus }),
    ...(asked.has("digest") && { useDigest: true }),
    ...(asked.has("again") && { replacesLatest: true }),
    ...(firstKeptEntryId !== undefined && { firstKeptEntryId }),
  };
}

const ASKED_WORD = /^(?:(?:--)?(digest|again|preview)|--(dry-run)|--before\s+(\S+))(?!\S)\s*/;

/** An id can be typed in part. @throws BonsaiError `entry_not_found`, `entry_ambiguous` */
function withWholeId(asked: CompactOptions, { host }: InteractiveContext): CompactOptions {
  const { firstKeptEntryId: id } = asked;
  return id === undefined ? asked : { ...asked, firstKeptEntryId: resolveEntryId(host.agent.session, id) };
}

/** Where there is no model, none is asked. */
function withDigestAlone(asked: CompactOptions, { host }: InteractiveContext): CompactOptions {
  return isNoModel(host.agent.model) ? { ...asked, useDigest: true } : asked;
}

async function showPreview(asked: CompactOptions, context: InteractiveContext): Promise<void> {
  const { result, lines } = previewOf(asked, context);
  if (result.status === "planned") return showReport(context.screen, lines);
  const little = littlePlan(asked, context);
  if (little === undefined) return context.notify(skippedNotice(result).message);
  await showReport(context.screen, little.lines);
}

interface Preview {
  result: CompactionResult;
  lines: (width: number) => Iterable<Line>;
}

/** Plans `/compact`, as `bonsai compact --dry-run` does. Without the status `planned`, `/compact` would change nothing. */
function previewOf(asked: CompactOptions, { host }: InteractiveContext, note = NOTE): Preview {
  const { session, model, systemPrompt, tools, summariser } = host.agent;
  const { useDigest = false, replacesLatest = false, ...others } = asked;
  const { texts } = requestOverhead({ systemPrompt, tools: tools.declarations() });
  const asksModel = !useDigest && !isNoModel(model);
  const result = planCompaction({
    ...others,
    ...{ session, replacesLatest, settings: host.app.settings.compaction, reason: "manual" },
    model: isNoModel(model) ? {} : model,
    ...(asksModel && summariser && { summariser }),
    fixedTexts: () => texts,
  });
  const before = messagesBefore(session, replacesLatest);
  return {
    result,
    *lines(width) {
      for (const text of wrap(note, width)) yield [span(text, "gray")];
      yield* compactView({ result, before, model: asksModel ? model : undefined, width });
    },
  };
}

const NOTE = "Plan for /compact. Nothing has changed yet.";
const LITTLE_NOTE =
  "Plan for /compact. All messages are recent, so it asks before it starts. Nothing has changed yet.";

/** Compacts. If a model's summary failed and nothing replaced it, offers the digest. */
export async function compactNow(given: CompactOptions, context: InteractiveContext): Promise<void> {
  const asked = withDigestAlone(given, context);
  const { ui, screen, host } = context;
  const little = host.agent.isBusy ? undefined : littlePlan(asked, context);
  if (little !== undefined && !(await ui.confirm(LITTLE, littleWords(little, context)))) return;
  if (screen.panelsLeft.aborted) return;
  const chosen = little?.asked ?? asked;
  const { digestIsUntried } = await requested(chosen, context);
  if (!digestIsUntried || screen.panelsLeft.aborted) return;
  if (await ui.confirm("Compact with the built-in digest?", "The digest needs no model."))
    await requested({ ...chosen, useDigest: true }, context);
}

/** What `/compact` offers where the whole context is recent enough to be kept: all but the last turn in a summary. */
interface LittlePlan extends Preview {
  asked: CompactOptions;
}

/** Undefined where `/compact` does what was asked, and where there is nothing to offer. */
function littlePlan(asked: CompactOptions, context: InteractiveContext): LittlePlan | undefined {
  if (!previewOf(asked, context).result.isAllRecent) return undefined;
  const firstKeptEntryId = lastTurnPlace(context);
  if (firstKeptEntryId === undefined) return undefined;
  const anyway = { ...asked, firstKeptEntryId };
  const preview = previewOf(anyway, context, LITTLE_NOTE);
  const { status, tokensBefore, tokensAfter } = preview.result;
  return status === "planned" && tokensAfter < tokensBefore ? { ...preview, asked: anyway } : undefined;
}

const LITTLE = "All messages are recent. Compact anyway?";

/** Where the last turn begins, or the last place that can be cut; undefined where none can. */
function lastTurnPlace({ host: { agent, app } }: InteractiveContext): string | undefined {
  const { session } = agent;
  const places = cutPlaces({ session, estimator: app.settings.compaction.estimator }).map(
    ({ entryId }) => entryId,
  );
  const startsTurn = (id: string) => {
    const entry = session.entry(id);
    return entry?.type === "message" && entry.message.role === "user";
  };
  return places.findLast(startsTurn) ?? places.at(-1);
}

function littleWords({ result, asked }: LittlePlan, { host: { agent } }: InteractiveContext): string {
  const { summarizedEntryIds, turnPrefixEntryIds, keptEntryIds } = result;
  const gone = counted(summarizedEntryIds.length + turnPrefixEntryIds.length, "message");
  const by = asked.useDigest === true || isNoModel(agent.model) ? "The built-in digest" : agent.model.name;
  return `${by} would summarise ${gone} and keep the last ${counted(keptEntryIds.length, "message")}. Context: ${sizeChange(result)}.`;
}

async function requested(asked: CompactOptions, context: InteractiveContext): Promise<CompactionOutcome> {
  const { agent, app } = context.host;
  const ended = new Set<string>();
  const stop = app.lifecycle.on("auto_compaction_end", ({ reason }) => {
    ended.add(reason);
  });
  try {
    if (agent.isBusy && !agent.isCompacting) context.notify("Compacting as soon as the current step ends.");
    const outcome = await agent.requestCompaction(asked);
    // A compaction that never began has no event.
    const notice = ended.has(outcome.reason) ? undefined : compactionNotice({ outcome });
    if (notice !== undefined) context.notify(notice.message, notice.level);
    return outcome;
  } finally {
    stop();
  }
}

export const undoCommand: SlashCommand = {
  name: "undo",
  description: "Undo the latest compaction",
  async run(_args, context) {
    const { host, notify } = context;
    const tokensAfter = await applyAndReport(context, undoLatestCompaction, "Undid");
    const limit = passedThreshold(host, tokensAfter);
    if (limit === undefined) return;
    notify(
      `The context is above ${counted(limit, "token")}: the next prompt compacts again. To avoid this, choose a model with a larger window or go back with /tree.`,
      "warning",
      { aboutEntryId: host.agent.session.leafId ?? undefined },
    );
  },
};

export const redoCommand: SlashCommand = {
  name: "redo",
  description: "Redo the latest undone compaction",
  async run(_args, context) {
    await applyAndReport(context, redoLatestUndo, "Redid");
  },
};

/** @returns the new size of the context */
async function applyAndReport(
  { host, chat, notify }: InteractiveContext,
  change: typeof undoLatestCompaction,
  done: string,
): Promise<number> {
  const { session } = host.agent;
  const contextSize = () => host.agent.state.context;
  const report = await change({ session, lifecycle: host.app.lifecycle, contextSize });
  chat.rebuild(session);
  const name = compactionName(session, report.compactionId, host.app.call.io.now());
  notify(`${done} ${name}. Context: ${sizeChange(report)}.`, "info", {
    aboutEntryId: session.leafId ?? undefined,
  });
  return report.tokensAfter;
}

/** The size above which the context is compacted by itself, where it has `tokens` and is above; else undefined. */
export function passedThreshold(host: InteractiveContext["host"], tokens: number): number | undefined {
  const settings = host.app.settings.compaction;
  if (!settings.enabled) return undefined;
  const { session, model } = host.agent;
  const budgets = budgetsFor({ settings, model });
  const reading = readContext({ session, estimator: settings.estimator, model });
  const { compactAboveTokens = Number.POSITIVE_INFINITY } =
    contextLimit({ settings, model, budgets, reading, nowMs: host.app.call.io.now() }) ?? {};
  return tokens > compactAboveTokens ? compactAboveTokens : undefined;
}

export const pinCommand: SlashCommand = {
  name: "pin",
  description: "Pin a text: compactions keep it word for word. Without a text: list the pins",
  argumentHint: "[text]",
  worksWhileBusy: true,
  run: (text, context) => (text === "" ? showPins(context) : pinText(text, context)),
};

async function pinText(text: string, context: InteractiveContext): Promise<void> {
  const { agent } = context.host;
  const message = pinMessage(agent.session, text, agent.waitingMessages);
  if (pinsOf(context).includes(text.trim())) return context.notify("This text is already pinned.");
  if (agent.isBusy)
    context.notify(`The agent is busy. Its next request will include this pin: ${oneLine(text, 60)}`);
  await agent.sendMessage(message, { triggerTurn: false });
  if (redactSecrets(text) !== text)
    context.notify(
      "This pin contains a key or a password. Each request and each summary will contain it. Remove it with /pin.",
      "warning",
    );
}

/** With those that wait for the agent's next request. */
function pinsOf({ host: { agent } }: InteractiveContext): string[] {
  return pinnedTexts(agent.session, agent.session.leafId, agent.waitingMessages);
}

async function showPins(context: InteractiveContext): Promise<void> {
  const { screen, notify } = context;
  const pins = pinsOf(context);
  if (pins.length === 0) return notify("No pins yet. Pin a text with /pin TEXT.");
  await screen.show<void>((done) => pinList(context, pins, () => done(undefined)));
}

function pinList(context: InteractiveContext, pins: readonly string[], leave: () => void): PickList<string> {
  const { host, screen } = context;
  /** One after the other: each takes what is selected when the one before is gone. */
  let unpinned: Promise<void> = Promise.resolve();
  const list: PickList<string> = new PickList<string>({
    place: screen,
    title: "Pins: compactions keep them word for word",
    items: pins,
    key: (text) => text,
    text: (text) => text,
    row: (text) => ({ label: oneLine(text) }),
    empty: "No pins left.",
    picks: "show text",
    onPick: (text) => void showWhole(context, text),
    onCancel: leave,
    actions: [
      {
        key: "delete",
        does: "unpin",
        run: () => {
          unpinned = unpinned.then(() => unpin(list.selected));
        },
      },
    ],
  });
  const unpin = async (text: string | undefined) => {
    if (text === undefined) return;
    try {
      await host.agent.sendMessage(unpinMessage(text), { triggerTurn: false });
      context.contextChanged();
      list.setItems(pinsOf(context));
    } catch (error) {
      list.update({ status: errorLine(error) });
    }
  };
  return list;
}

function showWhole({ screen }: InteractiveContext, text: string): Promise<void> {
  const lines = (width: number) => textLines(text, width).map((line) => [line.slice(1)]);
  return showReport(screen, lines);
}
