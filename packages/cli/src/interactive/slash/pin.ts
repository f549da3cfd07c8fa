import { pinMessage, pinnedSoon, unpinMessage } from "@bonsai-agent/compaction";
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
  const message = pinMessage(agent.session, text, agent.waitingMessages);
  if (pinsOf(work).includes(text.trim())) {
    work.tell({ level: "info", message: "That is pinned already." });
    return;
  }
  if (agent.isBusy)
    work.tell({ level: "info", message: `Will be pinned before the next request: ${oneLine(text, 60)}` });
  await agent.sendMessage(message, { triggerTurn: false });
}

/** With those that wait for the agent's next request. */
function pinsOf({ host: { agent } }: InteractiveWork): string[] {
  return pinnedSoon(agent.session, agent.waitingMessages);
}

async function showPins(work: InteractiveWork): Promise<void> {
  const { screen, tell } = work;
  const pins = pinsOf(work);
  if (pins.length === 0) {
    tell({ level: "info", message: "Nothing is pinned. `/pin TEXT` pins a text." });
    return;
  }
  await screen.show<void>((done) => pinList(work, pins, () => done(undefined)));
}

function pinList(work: InteractiveWork, pins: readonly string[], leave: () => void): PickList<string> {
  const { host, screen } = work;
  /** One after the other: each takes what is selected when the one before is gone. */
  let unpinned: Promise<void> = Promise.resolve();
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
    actions: [
      {
        key: "delete",
        does: "unpin",
        run: () => {
          unpinned = unpinned.then(() => unpin(list.model.selected));
        },
      },
    ],
  });
  const unpin = async (text: string | undefined) => {
    if (text === undefined) return;
    try {
      await host.agent.sendMessage(unpinMessage(text), { triggerTurn: false });
      work.contextChanged();
      list.setItems(pinsOf(work));
    } catch (error) {
      list.tell({ status: errorLine(error) });
    }
  };
  return list;
}

function showWhole({ screen }: InteractiveWork, text: string): Promise<void> {
  const lines = (width: number) => textLines(text, width).map((line) => [line.slice(1)]);
  return showReport(screen, lines);
}
