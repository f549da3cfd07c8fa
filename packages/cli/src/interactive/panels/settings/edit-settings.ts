import { BonsaiError } from "@bonsai-agent/messages";
import type { ModelShelf } from "../../../work/model-choice.ts";
import type { Screen } from "../../screen.ts";
import { askPick, askText } from "../ask.ts";
import { pickModel } from "../models/pick-model-panel.ts";
import { textLines, wholePath } from "../panel-frame.ts";
import { PickList, type PickRow } from "../pick-list.ts";
import { type CommonSetting, commonSettings, settingName } from "./common-settings.ts";
import {
  readSettings,
  settingsFile,
  validSettings,
  valueAt,
  withValue,
  writeSetting,
} from "./settings-file.ts";

export interface EditSettingsOptions {
  screen: Screen;
  shelf: ModelShelf;
  home: string;
  /** Told after each change; @returns what to say about it, if anything */
  onChange: (setting: CommonSetting) => string | undefined;
}

/** Lets the user change the common settings in the user's own file. @throws BonsaiError for a file that cannot be used */
export async function editSettings(options: EditSettingsOptions): Promise<void> {
  // Wrong before anything was changed: whoever edits the file is told, not this list.
  validSettings(readSettings(options.home));
  await options.screen.show<undefined>((done) => new SettingsEditor(options, () => done(undefined)).list);
}

/** Owner of the list of settings while it is shown. */
class SettingsEditor {
  readonly list: PickList<CommonSetting>;
  readonly #options: EditSettingsOptions;
  /** As of the latest change: a list is drawn more often than a setting is changed. */
  readonly #rows = new Map<string, PickRow>();

  constructor(options: EditSettingsOptions, done: () => void) {
    const { screen, home } = options;
    this.#options = options;
    this.list = new PickList<CommonSetting>({
      place: screen,
      title: `Settings, ${wholePath(settingsFile(home))}`,
      items: commonSettings,
      key: settingName,
      text: (setting) => `${settingName(setting)} ${setting.meaning}`,
      row: (setting) => this.#row(setting),
      preview: (setting, width) => this.#preview(setting, width),
      picks: "change",
      onPick: (setting) => {
        this.#change(setting).catch((error: unknown) => this.list.tell({ status: words(error) }));
      },
      onCancel: done,
      actions: [
        {
          key: "ctrl+d",
          does: "back to the default",
          run: (setting) => setting && this.#write(setting, undefined),
        },
      ],
    });
  }

  #row(setting: CommonSetting): PickRow {
    const name = settingName(setting);
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const own = valueAt(readSettings(this.#options.home), setting.path);
    const detail = own === undefined ? `${shown(this.#default(setting))} (default)` : shown(own);
    const row = { label: name, detail };
    this.#rows.set(name, row);
    return row;
  }

  #preview(setting: CommonSetting, width: number): string[] {
    const allowed = { switch: "on or off", number: "a whole number", model: "provider/id", choice: "" };
    const { value } = setting;
    const choices = value.kind === "choice" ? value.choices.join(", ") : allowed[value.kind];
    const words = `${setting.meaning}\nDefault: ${shown(this.#default(setting))}. Allowed: ${choices}.`;
    return textLines(words, width);
  }

  /** What holds without the user's own value: the preset can say otherwise than Bonsai does. */
  #default({ path }: CommonSetting): unknown {
    return valueAt(validSettings(withValue(readSettings(this.#options.home), path, undefined)), path);
  }

  async #change(setting: CommonSetting): Promise<void> {
    const now = valueAt(validSettings(readSettings(this.#options.home)), setting.path);
    const { value } = setting;
    if (value.kind === "switch") this.#write(setting, now !== true);
    else if (value.kind === "choice") await this.#choose(setting, value.choices, String(now));
    else if (value.kind === "model") await this.#chooseModel(setting, now);
    else await this.#typeNumber(setting, now);
  }

  async #choose(setting: CommonSetting, choices: readonly string[], now: string): Promise<void> {
    const usual = shown(this.#default(setting));
    const picked = await askPick(this.#options.screen, {
      title: settingName(setting),
      items: choices,
      key: (choice) => choice,
      text: (choice) => choice,
      selected: now,
      row: (choice) => ({
        label: choice,
        detail: choice === usual ? "default" : undefined,
        mark: choice === now ? "●" : undefined,
      }),
      preview: (_choice, width) => textLines(setting.meaning, width),
    });
    if (picked !== undefined) this.#write(setting, picked);
  }

  async #chooseModel(setting: CommonSetting, now: unknown): Promise<void> {
    const { screen, shelf } = this.#options;
    const current = typeof now === "string" ? now : "";
    const picked = await pickModel({ screen, shelf, current, title: settingName(setting) });
    if (picked !== undefined) this.#write(setting, picked.reference);
  }

  async #typeNumber(setting: CommonSetting, now: unknown): Promise<void> {
    const { screen, home } = this.#options;
    const typed = await askText(screen, {
      title: settingName(setting),
      message: `${setting.meaning} Empty means the default.`,
      value: shown(now),
      problem: (text) => numberProblem(text, setting, home),
    });
    if (typed !== undefined) this.#write(setting, typed.trim() === "" ? undefined : numberOf(typed));
  }

  #write(setting: CommonSetting, value: unknown): void {
    const { home, onChange } = this.#options;
    try {
      writeSetting(home, setting.path, value);
      this.#rows.clear();
      this.list.tell({ status: onChange(setting) });
    } catch (error) {
      this.list.tell({ status: words(error) });
    }
  }
}

/** As it is shown in the list. */
function shown(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `16,384` and `16 384` are typed too. */
function numberOf(text: string): number {
  return Number(text.replace(/[,_\s]/g, ""));
}

function numberProblem(text: string, { path }: CommonSetting, home: string): string | undefined {
  if (text.trim() === "") return undefined;
  if (!Number.isFinite(numberOf(text))) return `${text} is no number.`;
  try {
    validSettings(withValue(readSettings(home), path, numberOf(text)));
    return undefined;
  } catch (error) {
    return words(error);
  }
}

function words(error: unknown): string {
  if (BonsaiError.is(error)) return error.message;
  return error instanceof Error ? error.message : String(error);
}
