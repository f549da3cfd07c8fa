import type * as acp from "@agentclientprotocol/sdk";
import type { CompactionDraft, ReviewCompaction } from "@bonsai-agent/compaction";
import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import type { Model } from "@bonsai-agent/messages";
import { dialogEnd } from "../call/questions.ts";
import { TEXT_COLUMNS } from "../call/text-commands.ts";
import { dialogReview, draftView } from "../views/draft-view.ts";
import { renderLine } from "../views/line.ts";
import type { ClientLink } from "./client-link.ts";

interface Choice {
  name: string;
  kind: acp.PermissionOptionKind;
  /** The label of the option to return; undefined for none. */
  answer: string | undefined;
  /** True: the same question gets this answer again in this session. */
  isKept?: true;
}

/** Owner of the questions to the client, and of the answers that it keeps for the session. */
export class AcpUi {
  readonly #link: ClientLink;
  readonly #openCall: () => string | undefined;
  readonly #kept = new Map<string, string | undefined>();
  readonly #closed = new AbortController();
  #asked = 0;

  /** @param openCall the id of the call that a question is about; undefined if there is none, or more than one */
  constructor(link: ClientLink, openCall: () => string | undefined) {
    this.#link = link;
    this.#openCall = openCall;
  }

  /** Ends all questions without an answer. */
  close(): void {
    this.#closed.abort();
  }

  /** Extensions and the agent ask the client through this. */
  readonly ui: FrontEndUI = {
    select: (title, options, settings) => this.#ask(title, choicesOf(options, settings), settings),
    confirm: async (title, message, settings) => {
      const permissions = ["allow_once", "reject_once"] as const;
      const choices = choicesOf(["Yes", "No"], { permissions });
      return (await this.#ask(`${title}\n${message}`.trim(), choices, settings)) === "Yes";
    },
    input: async () => this.#undrawn("questions with a text field"),
    editor: async () => this.#undrawn("questions with a text field"),
    custom: async () => this.#undrawn("screens"),
    notify: (message, type = "info") => this.#link.notice(type, message),
    setStatus: (_key, text) => text !== undefined && this.#undrawn("status texts"),
    setWidget: (_key, lines) => lines !== undefined && this.#undrawn("widgets"),
    setTitle: () => {},
    setEditorText: () => this.#undrawn("text in the prompt"),
    getEditorText: () => "",
  };

  /** Asks about a draft with its preview. The client has no field to change the summary or the focus. */
  reviewCompaction(model: () => Model): ReviewCompaction {
    const textOf = (draft: CompactionDraft, by: Model) =>
      [...draftView(draft, by, TEXT_COLUMNS)].map((line) => renderLine(line, false)).join("\n");
    const review = dialogReview(this.ui, model, textOf);
    return (draft) => {
      const actions = new Set(draft.actions);
      for (const action of ["edit", "again"] as const) actions.delete(action);
      return review({ ...draft, actions });
    };
  }

  async #ask(
    text: string,
    choices: readonly Choice[],
    settings?: DialogOptions,
  ): Promise<string | undefined> {
    const key = [text, ...choices.map(({ name }) => name)].join("\n");
    if (this.#kept.has(key)) return this.#kept.get(key);
    const { client, sessionId } = this.#link;
    const openCall = this.#openCall();
    const toolCallId = openCall ?? `question-${++this.#asked}`;
    const [title = ""] = text.split("\n", 1);
    const cancellationSignal = dialogEnd(this.#closed.signal, settings);
    if (cancellationSignal.aborted) return undefined;
    this.#link.flush();
    const question: acp.RequestPermissionRequest = {
      sessionId,
      toolCall: {
        toolCallId,
        ...(openCall === undefined && { title, kind: "other", status: "pending" }),
        content: [{ type: "content", content: { type: "text", text } }],
      },
      options: choices.map(({ name, kind }, at) => ({ optionId: String(at), name, kind })),
    };
    const response = await client
      .request("session/request_permission", question, { cancellationSignal, stopWaitingOnCancel: true })
      .catch(() => undefined);
    const outcome = response?.outcome;
    const optionId = outcome?.outcome === "selected" ? outcome.optionId : undefined;
    const chosen = choices.find((_choice, at) => String(at) === optionId);
    if (chosen?.isKept) this.#kept.set(key, chosen.answer);
    if (openCall === undefined)
      void this.#link.send({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
    return chosen?.answer;
  }

  #undrawn(what: string): undefined {
    this.#link.noticeOnce(
      `Extensions cannot show ${what} in this editor. Run \`bonsai\` in a terminal to see them.`,
    );
  }
}

/** Options without kinds are answers to a question. Permissions also get the answers that they lack. */
function choicesOf(options: readonly string[], { permissions }: DialogOptions = {}): Choice[] {
  const choices = options.map(
    (name, at): Choice => ({ name, kind: permissions?.[at] ?? "allow_once", answer: name }),
  );
  if (permissions === undefined && !options.includes("Cancel"))
    choices.push({ name: "Cancel", kind: "reject_once", answer: undefined });
  if (permissions === undefined) return choices;
  for (const verb of ["allow", "reject"] as const) {
    const once = choices.find(({ kind }) => kind === `${verb}_once`);
    if (once === undefined || choices.some(({ kind }) => kind === `${verb}_always`)) continue;
    const name = `${verb === "allow" ? "Always allow" : "Always reject"} in this session`;
    choices.push({ name, kind: `${verb}_always`, answer: once.answer, isKept: true });
  }
  return choices;
}
