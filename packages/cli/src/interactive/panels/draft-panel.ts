import type { CompactionDraft } from "@bonsai-agent/compaction";
import type { Model } from "@bonsai-agent/messages";
import { type DraftChoice, draftChoices, draftTitle, draftView } from "../../views/draft-view.ts";
import { shortTokens } from "../../views/numbers.ts";
import { keys } from "../terminal/keys.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import { getKeybindings, type KeyId } from "../terminal/tui.ts";
import { ChoiceBar } from "./choice-bar.ts";
import { framed, headingLines, type KeyHint, keyName } from "./panel-frame.ts";
import { type ScrolledLines, scrolledReport } from "./report-panel.ts";

export interface DraftAnswer {
  choice: DraftChoice;
  isOutside: boolean;
}

interface DraftPanelOptions {
  screen: Screen;
  draft: CompactionDraft;
  model: Model;
  /** Selected at first if it can be chosen. Default: the first choice. */
  selected?: DraftChoice | undefined;
  onAnswer: (answer: DraftAnswer) => void;
}

const LETTERS: Readonly<Record<DraftChoice, KeyId>> = {
  apply: "a",
  edit: "e",
  again: "f",
  digest: "d",
  earlier: "m",
  later: "l",
  earlierTurn: "t",
  laterTurn: "u",
  back: "b",
  cancel: "c",
};

/** The footer, the activity line and one line of the chat. */
const ROWS_AROUND = 5;
const MIN_ROWS = 2;
/** On a lower screen, choices and hints are short. */
const LOW_ROWS = 16;

/** A compaction before it happens: its scrolled report and the choices. It opens by itself, perhaps while the user types. */
export class DraftPanel implements Panel {
  readonly #options: DraftPanelOptions;
  readonly #report: ScrolledLines;
  readonly #bar: ChoiceBar<DraftChoice>;
  readonly #canEdit: boolean;

  constructor(options: DraftPanelOptions) {
    const { screen, draft, model, selected, onAnswer } = options;
    const choices = draftChoices(draft);
    this.#options = options;
    this.#report = scrolledReport(screen, (width) => draftView(draft, model, width));
    this.#canEdit = choices.some(({ choice }) => choice === "edit");
    this.#bar = new ChoiceBar({
      choices: choices.map(({ choice, label, keptTokens }) => ({
        value: choice,
        letter: LETTERS[choice],
        label: () =>
          ` ${LETTERS[choice]} ${keptTokens === undefined ? label : this.#cutLabel(label, keptTokens)} `,
      })),
      initial: Math.max(
        0,
        choices.findIndex(({ choice }) => choice === selected),
      ),
      onAnswer: (choice) => onAnswer({ choice, isOutside: false }),
      typeThrough: (data) => screen.typeThrough(data),
    });
  }

  handleInput(data: string): void {
    const { onAnswer, screen } = this.#options;
    if (getKeybindings().matches(data, "tui.select.cancel")) onAnswer({ choice: "cancel", isOutside: false });
    else if (this.#canEdit && keys.matches("externalEditor", data))
      onAnswer({ choice: "edit", isOutside: true });
    else if (!this.#bar.handleInput(data)) this.#report.handleInput(data);
    screen.redraw();
  }

  render(width: number): string[] {
    const { screen, draft } = this.#options;
    const below = this.#bar.render(width, screen.theme);
    const hints = this.#hints();
    const around = below.length + framed(screen.theme, width, [], hints).length;
    const free = screen.rows - around - ROWS_AROUND;
    const heading = headingLines(screen, draftTitle(draft), width).slice(0, free < 2 * MIN_ROWS ? 1 : 2);
    const rows = Math.max(MIN_ROWS, free - heading.length);
    const report = this.#report.render(width, rows);
    return framed(screen.theme, width, [...heading, ...report, ...below], hints);
  }

  invalidate(): void {
    this.#report.invalidate();
  }

  /** `Keep more, ~20k`; on a low screen `more`, to leave room for the draft. */
  #cutLabel(label: string, keptTokens: number): string {
    return this.#isLow ? label.slice(label.indexOf(" ") + 1) : `${label}, ~${shortTokens(keptTokens)}`;
  }

  get #isLow(): boolean {
    return this.#options.screen.rows < LOW_ROWS;
  }

  #hints(): KeyHint[] {
    const confirm: KeyHint = [keyName("tui.select.confirm"), "confirm"];
    const cancel: KeyHint = [keyName("tui.select.cancel"), "cancel"];
    if (this.#isLow) return [confirm, cancel];
    const outside: KeyHint[] = this.#canEdit ? [[keys.label("externalEditor"), "edit in $EDITOR"]] : [];
    return [["Tab or letter", "choose"], confirm, ...outside, ...this.#report.hints(), cancel];
  }
}
