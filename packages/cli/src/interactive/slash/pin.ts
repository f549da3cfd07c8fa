import { pinMessage, pinnedTexts, unpinMessage } from "@bonsai-agent/compaction";
import { oneLine } from "../../views/printable.ts";
import { errorLine } from "../error-text.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList } from "../panels/pick-list.ts";
import { showReport } from "../panels/report-panel.ts";
import type { SlashCommand } from "./slash-command.ts";

export const pin: SlashCommand = {
  name: "pin",
  description: "Pin a text that every compaction keeps word for word; without one, lists what is pinned",
  argumentHint: "[text]",
  worksWhileBusy: true,
  run: (text, work) => (text === "" ? showPins(work) : pinText(text, work)),
};

async function pinText(text: string, work: InteractiveWork): Promise<void> {
  const { agent } = work.host;
  const message = pinMessage(agent.session, text);
  if (pinnedTexts(agent.session).includes(text.trim())) {
    work.tell({ level: "info", message: "That is pinned already." });
    return;
  }
  if (agent.isBusy)
    work.tell({ level: "info", message: `Will be pinned before the next request: ${oneLine(text, 60)}` });
  await agent.sendMessage(message, { triggerTurn: false });
}

async function showPins(work: InteractiveWork): Promise<void> {
  const { host, screen, tell } = work;
  const { session } = host.agent;
  const pins = pinnedTexts(session);
  if (pins.length === 0) {
    tell({ level: "info", message: "Nothing is pinned. `/pin TEXT` pins a text." });
    return;
  }
  await screen.show<void>((done) => pinList(work, pins, () => done(undefined)));
}

function pinList(work: InteractiveWork, pins: readonly string[], leave: () => void): PickList<string> {
  const { host, screen } = work;
  let left = pins;
  const list: PickList<string> = new PickList<string>({
    place: screen,
    title: "Pinned: every compaction keeps it word for word",
    items: pins,
    key: (text) => text,
    text: (text) => text,
    row: (text) => ({ label: oneLine(text) }),
    empty: "Nothing is pinned any more.",
    picks: "whole text",
    onPick: (text) => void showWhole(work, text),
    onCancel: leave,
    actions: [{ key: "delete", does: "unpin", run: (text) => void unpin(text) }],
  });
  const unpin = async (text: string | undefined) => {
    if (text === undefined) return;
    try {
      left = left.filter((each) => each !== text);
      list.setItems(left);
      await host.agent.sendMessage(unpinMessage(text), { triggerTurn: false });
      work.contextChanged();
    } catch (error) {
      left = pinnedTexts(host.agent.session);
      list.setItems(left);
      list.tell({ status: errorLine(error) });
    }
  };
  return list;
}

function showWhole({ screen }: InteractiveWork, text: string): Promise<void> {
  const lines = (width: number) => textLines(text, width).map((line) => [line.slice(1)]);
  return showReport(screen, lines);
}
