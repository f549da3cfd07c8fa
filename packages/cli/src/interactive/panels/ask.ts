import type { Screen } from "../screen.ts";
import { ConfirmPanel, type ConfirmPanelOptions } from "./confirm-panel.ts";
import { InputPanel, type InputPanelOptions } from "./input-panel.ts";
import { PickList, type PickListOptions } from "./pick-list.ts";

// Panels of the commands: they stand over whatever panel asks, and do not wait for the dialogs of extensions.

/** @returns true only where the user said yes */
export async function askYes(
  screen: Screen,
  question: Pick<ConfirmPanelOptions, "title" | "message" | "typeThrough">,
): Promise<boolean> {
  const answer = await screen.show<boolean>(
    (done) => new ConfirmPanel({ place: screen, ...question, onAnswer: done }),
  );
  return answer === true;
}

/** @returns undefined where the user left it without an answer */
export function askYesOrNo(
  screen: Screen,
  question: Pick<ConfirmPanelOptions, "title" | "message" | "typeThrough">,
): Promise<boolean | undefined> {
  return screen.show<boolean>(
    (done) =>
      new ConfirmPanel({ place: screen, ...question, onAnswer: done, onLeave: () => done(undefined) }),
  );
}

/** @returns undefined where the user left it */
export function askText(
  screen: Screen,
  question: Omit<InputPanelOptions, "place" | "onDone">,
): Promise<string | undefined> {
  return screen.show<string>((done) => new InputPanel({ place: screen, ...question, onDone: done }));
}

/** @returns undefined where the user left it */
export function askPick<Item>(
  screen: Screen,
  question: Omit<PickListOptions<Item>, "place" | "onPick" | "onCancel">,
): Promise<Item | undefined> {
  return screen.show<Item>(
    (done) =>
      new PickList<Item>({ place: screen, ...question, onPick: done, onCancel: () => done(undefined) }),
  );
}
