import type { CompactionDraft, ReviewCompaction, ReviewDecision } from "@bonsai-agent/compaction";
import { raceAbort } from "@bonsai-agent/messages/host";
import { type DraftChoice, decisionOf, isCutChoice } from "../../views/draft-view.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { type DraftAnswer, DraftPanel } from "../panels/draft-panel.ts";
import { EditorPanel, InputPanel } from "../panels/question-panels.ts";
import { editOutside } from "./external-editor.ts";

/**
 * Shows drafts of compactions in a panel. Leaving a question leads back to the draft.
 * @param untilRest resolves when the user pauses typing
 */
export function panelReview(
  context: InteractiveContext,
  untilRest: (signal: AbortSignal) => Promise<void>,
): ReviewCompaction {
  const { screen } = context;
  /** A choice that moves the cut stays selected. */
  let latest: DraftChoice | undefined;
  const review: ReviewCompaction = async (draft) => {
    await untilRest(draft.signal);
    const { model } = context.host.agent;
    const selected = latest !== undefined && isCutChoice(latest) ? latest : undefined;
    const answer = await screen.show<DraftAnswer>(
      (done) => new DraftPanel({ screen, draft, model, selected, onAnswer: done }),
      draft.signal,
    );
    latest = answer?.choice;
    return (await decided(answer, draft)) ?? review(draft);
  };
  /** @returns undefined to show the draft again */
  async function decided(
    { choice, isOutside }: DraftAnswer = { choice: "cancel", isOutside: false },
    draft: CompactionDraft,
  ): Promise<ReviewDecision | undefined> {
    if (choice === "edit") {
      const prose = await edited(draft, isOutside);
      return prose === undefined ? undefined : { action: "edit", prose };
    }
    if (choice !== "again") return decisionOf(choice, draft);
    const focus = await askedFocus(draft);
    return focus === undefined ? undefined : { action: "again", focus };
  }
  function edited({ signal, prose = "", refusedProse }: CompactionDraft, isOutside: boolean) {
    const prefill = refusedProse ?? prose;
    // After an abort, only the editor's own key ends it.
    if (isOutside) return raceAbort(editOutside(context, prefill), signal, () => undefined);
    return screen.show<string>(
      (done) => new EditorPanel({ screen, title: "Edit the summary", prefill, onDone: done }),
      signal,
    );
  }
  function askedFocus({ signal, focus = "" }: CompactionDraft): Promise<string | undefined> {
    const title = "What should the summary focus on?";
    return screen.show<string>(
      (done) => new InputPanel({ place: screen, title, value: focus, onDone: done }),
      signal,
    );
  }
  return review;
}
