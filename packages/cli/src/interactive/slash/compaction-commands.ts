import type { CompactOptions } from "@bonsai-agent/agent";
import {
  type CompactionOutcome,
  type CompactionResult,
  cutPlaces,
  pinMessage,
  pinnedTexts,
  redoLatestUndo,
  undoLatestCompaction,
  unpinMessage,
} from "@bonsai-agent/compaction";
import { redactSecrets } from "@bonsai-agent/messages";
import {
  changeCompaction,
  parseCompactArgs,
  passedThreshold,
  planManualCompaction,
} from "../../call/compactions.ts";
import { compactView } from "../../views/compact-view.ts";
import { compactionNotice, skippedNotice } from "../../views/compaction-notice.ts";
import { type Line, span } from "../../views/line.ts";
import { counted, sizeChange } from "../../views/numbers.ts";
import { oneLine, wrap } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList } from "../panels/pick-list.ts";
import { showReport } from "../panels/report-panel.ts";

export const compactCommand: SlashCommand = {
  name: "compact",
  description: "Compact now. A focus names the topics to emphasise; preview shows the plan",
  argumentHint: "[focus|preview]",
  worksWhileBusy: true,
  complete: (prefix) => ("preview".startsWith(prefix) ? [preview] : []),
  run: (args, context) => {
    const { isPreview, ...asked } = parseCompactArgs(args);
    return isPreview ? showPreview(withDigestAlone(asked, context), context) : compactNow(asked, context);
  },
};

const preview = { value: "preview", label: "preview", description: "Show the plan and change nothing" };

/** Without a model, the digest summarises. */
function withDigestAlone(asked: CompactOptions, { host }: InteractiveContext): CompactOptions {
  return isNoModel(host.agent.model) ? { ...asked, useDigest: true } : asked;
}

async function showPreview(asked: CompactOptions, context: InteractiveContext): Promise<void> {
  const { result, lines } = previewOf(asked, context);
  if (result.status === "planned") await showReport(context.screen, lines);
  else context.notify(skippedNotice(result).message);
}

interface Preview {
  result: CompactionResult;
  lines: (width: number) => Iterable<Line>;
}

/** Without the status `planned`, `/compact` would change nothing. */
function previewOf(asked: CompactOptions, { host }: InteractiveContext): Preview {
  const { session, model } = host.agent;
  const usable = isNoModel(model) ? undefined : model;
  const result = planManualCompaction(host, asked, usable);
  const before = session.projection().items;
  return {
    result,
    *lines(width) {
      for (const text of wrap(NOTE, width)) yield [span(text, "gray")];
      yield* compactView({ result, before, model: asked.useDigest ? undefined : usable, width });
    },
  };
}

const NOTE = "Plan for /compact. Nothing has changed yet.";

/** Compacts. If a model's summary failed and nothing replaced it, offers the digest. */
export async function compactNow(given: CompactOptions, context: InteractiveContext): Promise<void> {
  const { ui, screen, host } = context;
  let asked = withDigestAlone(given, context);
  const small = host.agent.isBusy ? undefined : smallCompaction(asked, context);
  if (small !== undefined) {
    if (!(await ui.confirm("All messages are recent. Compact anyway?", small.text))) return;
    asked = small.asked;
  }
  if (screen.panelsLeft.aborted) return;
  const { digestIsUntried } = await requestCompaction(asked, context);
  if (!digestIsUntried || screen.panelsLeft.aborted) return;
  if (await ui.confirm("Compact with the built-in digest?", "The digest needs no model."))
    await requestCompaction({ ...asked, useDigest: true }, context);
}

/** A compaction of all but the last turn, offered if all messages are recent enough to be kept. */
function smallCompaction(
  asked: CompactOptions,
  context: InteractiveContext,
): { asked: CompactOptions; text: string } | undefined {
  if (!previewOf(asked, context).result.isAllRecent) return undefined;
  const firstKeptEntryId = lastTurnPlace(context);
  if (firstKeptEntryId === undefined) return undefined;
  const small = { ...asked, firstKeptEntryId };
  const { result } = previewOf(small, context);
  if (result.status !== "planned" || result.tokensAfter >= result.tokensBefore) return undefined;
  const { summarizedEntryIds, turnPrefixEntryIds, keptEntryIds } = result;
  const gone = counted(summarizedEntryIds.length + turnPrefixEntryIds.length, "message");
  const by = asked.useDigest === true ? "The built-in digest" : context.host.agent.model.name;
  const text = `${by} would summarise ${gone} and keep the last ${counted(keptEntryIds.length, "message")}. Context: ${sizeChange(result)}.`;
  return { asked: small, text };
}

/** The start of the last turn, else the last place that can be cut. */
function lastTurnPlace({ host: { agent, app } }: InteractiveContext): string | undefined {
  const { session } = agent;
  const places = cutPlaces({ session, estimator: app.settings.compaction.estimator });
  const startsTurn = ({ entryId }: (typeof places)[number]) => {
    const entry = session.entry(entryId);
    return entry?.type === "message" && entry.message.role === "user";
  };
  return (places.findLast(startsTurn) ?? places.at(-1))?.entryId;
}

async function requestCompaction(
  asked: CompactOptions,
  context: InteractiveContext,
): Promise<CompactionOutcome> {
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
  done: "Undid" | "Redid",
): Promise<number> {
  const { session } = host.agent;
  const { message, tokensAfter } = await changeCompaction(host, change, done);
  chat.rebuild(session);
  notify(message, "info", { aboutEntryId: session.leafId ?? undefined });
  return tokensAfter;
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

/** The stored pins and those that wait for the next request. */
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
        async run(text) {
          if (text === undefined) return;
          await host.agent.sendMessage(unpinMessage(text), { triggerTurn: false });
          context.status.contextChanged();
          list.setItems(pinsOf(context));
        },
      },
    ],
  });
  return list;
}

function showWhole({ screen }: InteractiveContext, text: string): Promise<void> {
  const lines = (width: number) => textLines(text, width).map((line) => [line.slice(1)]);
  return showReport(screen, lines);
}
