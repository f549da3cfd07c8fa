import { type AssistantContent, emptyUsage, type Message } from "@bonsai-agent/messages";
import { codeLine, logLine, madePath, type Random, seededRandom } from "./made-text.ts";

/** Everyday words of one writing system each, and the character between them. */
const SCRIPTS = {
  latin: {
    gap: " ",
    stop: ". ",
    words:
      "please never change keep orders older customers need reports before friday because gateway answers slowly release invoices must stay readable".split(
        " ",
      ),
  },
  cyrillic: {
    gap: " ",
    stop: ". ",
    words:
      "пожалуйста никогда заказы храните старые клиенты отчёты перед пятницей сервер отвечает медленно счета должны оставаться читаемыми выпуск".split(
        " ",
      ),
  },
  han: {
    gap: "",
    stop: "。",
    words: "请 不要 修改 订单 旧的 客户 需要 报表 星期五 之前 网关 响应 太慢 发票 必须 保持 可读 版本".split(
      " ",
    ),
  },
  kana: {
    gap: "",
    stop: "。",
    words:
      "注文は 絶対に 変更しないで 古い お客様が レポートを 金曜日 までに ゲートウェイの 応答が 遅い 請求書は 必ず 読める ままに".split(
        " ",
      ),
  },
  arabic: {
    gap: " ",
    stop: ". ",
    words:
      "من فضلك لا تغير الطلبات القديمة العملاء يحتاجون التقارير قبل الجمعة البوابة بطيئة الفواتير يجب أن تبقى مقروءة".split(
        " ",
      ),
  },
} as const;

/** Files of one session. */
const FILES = 30;

export type Script = keyof typeof SCRIPTS;
export const scripts = Object.keys(SCRIPTS) as Script[];

/**
 * Turns of work whose user and agent write in one writing system: rules, values and to-dos among requests, commands
 * that fail or pass, edits, and pushes.
 */
export function writtenTurns(script: Script, { seed, turns }: { seed: number; turns: number }): Message[] {
  const random = seededRandom(seed * 101 + scripts.indexOf(script));
  const writer = new TurnWriter(script, random);
  for (let turn = 0; turn < turns; turn++) writer.turn();
  return writer.messages;
}

class TurnWriter {
  readonly messages: Message[] = [];
  readonly #script: Script;
  readonly #random: Random;
  readonly #files: readonly string[];

  constructor(script: Script, random: Random) {
    this.#script = script;
    this.#random = random;
    this.#files = Array.from({ length: FILES }, () => madePath(random));
  }

  turn(): void {
    const todo = this.#sentence();
    const request = [
      this.#sentence(),
      this.#sentence(),
      ...(this.#random.chance(0.3) ? [`\n- [ ] ${todo}`] : []),
    ];
    this.#add({ role: "user", content: [{ type: "text", text: request.join(SCRIPTS[this.#script].stop) }] });
    this.#call("read", { path: this.#random.pick(this.#files) }, this.#lines(codeLine, 30));
    this.#call(
      "edit",
      { path: this.#random.pick(this.#files), oldText: "a", newText: codeLine(this.#random) },
      "ok",
    );
    const command = `npx vitest run test/${this.#random.int(9)}.test.ts`;
    if (this.#random.chance(0.5))
      this.#call("bash", { command }, `${this.#lines(logLine, 8)}\nError: ${this.#sentence()}`, true);
    else this.#call("bash", { command }, this.#lines(logLine, 8));
    if (this.#random.chance(0.3))
      this.#call("bash", { command: `git push origin v${this.#random.int(999)}` }, "ok");
    this.#answer(
      [{ type: "text", text: `${this.#sentence()}${SCRIPTS[this.#script].stop}${this.#sentence()}` }],
      "stop",
    );
  }

  /** Ten words, a path and a number, so that no two sentences are equal. */
  #sentence(): string {
    const { words, gap } = SCRIPTS[this.#script];
    const said = Array.from({ length: 10 }, () => this.#random.pick(words));
    return `${said.join(gap)} ${this.#random.pick(this.#files)} ${this.#random.int(9_999)}`;
  }

  #lines(line: (random: Random) => string, max: number): string {
    return Array.from({ length: 1 + this.#random.int(max) }, () => line(this.#random)).join("\n");
  }

  #call(name: string, args: Record<string, unknown>, output: string, isError = false): void {
    const id = `call_${this.messages.length}`;
    this.#answer([{ type: "toolCall", id, name, arguments: args }], "toolUse");
    const content = [{ type: "text" as const, text: output }];
    this.#add({ role: "toolResult", toolCallId: id, toolName: name, content, isError });
  }

  #answer(content: AssistantContent[], stopReason: "stop" | "toolUse"): void {
    const origin = { api: "scripted", provider: "scripted", model: "scripted" };
    this.#add({ role: "assistant", content, ...origin, usage: emptyUsage(), stopReason });
  }

  #add(message: object): void {
    const timestamp = Date.UTC(2026, 0, 5) + this.messages.length * 1_000;
    this.messages.push({ ...message, timestamp } as Message);
  }
}
