import { viewTokens, withEdits } from "./context-view.ts";
import { isWorthwhile, maskEdits, planMasks } from "./mask.ts";
import type { Rung } from "./rung.ts";

/** Masks old outputs and shortens what commands of the user printed; an extension may veto, or keep some of them. */
export const maskRung: Rung = {
  name: "mask",
  applies: ({ view }, { settings, commandTokens }) =>
    isWorthwhile(planMasks(view, settings.mask, commandTokens)),
  async attempt(state, { settings, commandTokens, hooks }) {
    const plan = planMasks(state.view, settings.mask, commandTokens);
    const keep = await hooks.beforeMask(plan);
    if (keep === "cancel") return state;
    const view = withEdits(state.view, maskEdits(plan, keep));
    return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
  },
};
