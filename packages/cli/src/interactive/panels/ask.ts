import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import { dialogEnd, oneAfterTheOther } from "../../call/questions.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import { stripTerminalSequences } from "../terminal/tui.ts";
import { PickList, type PickListOptions, showList } from "./pick-list.ts";
import {
  ConfirmPanel,
  type ConfirmPanelOptions,
  EditorPanel,
  InputPanel,
  type InputPanelOptions,
} from "./question-panels.ts";

// Questions of commands. They open over any panel and do not wait for the dialogs of extensions.

export async function askYes(
  screen: Screen,
  question: Pick<ConfirmPanelOptions, "title" | "message" | "typeThrough">,
): Promise<boolean> {
  return (await askYesOrNo(screen, question)) === true;
}

/** @returns undefined if the user leaves the question */
export function askYesOrNo(
  screen: Screen,
  question: Pick<ConfirmPanelOptions, "title" | "message" | "typeThrough">,
): Promise<boolean | undefined> {
  return screen.show<boolean>((done) => new ConfirmPanel({ place: screen, ...question, onAnswer: done }));
}

/** @returns undefined if the user leaves it */
export function askText(
  screen: Screen,
  question: Omit<InputPanelOptions, "place" | "onDone">,
): Promise<string | undefined> {
  return screen.show<string>((done) => new InputPanel({ place: screen, ...question, onDone: done }));
}

/** @returns undefined if the user leaves it */
export function askPick<Item>(
  screen: Screen,
  question: Omit<PickListOptions<Item>, "place" | "onPick" | "onCancel">,
): Promise<Item | undefined> {
  return showList<Item, Item>(
    screen,
    (done) =>
      new PickList<Item>({ place: screen, ...question, onPick: done, onCancel: () => done(undefined) }),
  );
}

type Dialogs = Pick<FrontEndUI, "select" | "confirm" | "input" | "editor">;

/**
 * The dialogs of extensions, one after the other.
 * @param untilRest resolves when the user pauses typing
 * @param ended ends open questions without an answer
 */
export function dialogs(
  screen: Screen,
  untilRest: (signal: AbortSignal) => Promise<void>,
  ended: AbortSignal,
): Dialogs {
  const asked = oneAfterTheOther();
  const show = <Value>(
    make: (done: (value: Value | undefined) => void) => Panel,
    settings?: DialogOptions,
  ): Promise<Value | undefined> =>
    asked(async () => {
      await untilRest(ended);
      const end = dialogEnd(ended, settings);
      return end.aborted ? undefined : screen.show(make, end);
    });
  return {
    select: async (title, options, settings) => {
      if (options.length === 0) return undefined;
      return show<string>((done) => choice(screen, { title, options }, done), settings);
    },
    confirm: async (title, message, settings) =>
      (await show<boolean>((done) => {
        const typeThrough = (data: string) => screen.typeThrough(data);
        const question = { title: plain(title), message: plain(message), typeThrough };
        return new ConfirmPanel({ place: screen, ...question, onAnswer: done });
      }, settings)) === true,
    input: (title, placeholder, settings) =>
      show<string>(
        (done) => new InputPanel({ place: screen, title: plain(title), placeholder, onDone: done }),
        settings,
      ),
    editor: (title, prefill = "") =>
      show<string>((done) => new EditorPanel({ screen, title: plain(title), prefill, onDone: done })),
  };
}

function choice(
  screen: Screen,
  { title, options }: { title: string; options: readonly string[] },
  onDone: (option: string | undefined) => void,
): Panel {
  const list: PickList<{ option: string; at: number }> = new PickList({
    place: screen,
    title: plain(title),
    // Two options can have the same text.
    items: options.map((option, at) => ({ option, at })),
    key: ({ at }) => String(at),
    row: ({ option }) => ({ label: plain(option) }),
    onPick: ({ option }) => onDone(option),
    onCancel() {
      // The text searched for no option: the user typed a prompt, which is kept.
      if (list.matches.length === 0) screen.typeThrough(list.query);
      onDone(undefined);
    },
    comesByItself: true,
  });
  return list;
}

/** Panels have their own colours. */
const plain = stripTerminalSequences;
