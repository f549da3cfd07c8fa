import { viewTokens, withEdits } from "./context-view.ts";
import { maskEdits, planMasks } from "./mask.ts";
import type { Rung } from "./rung.ts";

/** Masks old tool results; an extension may veto, or keep some of them. */
export const maskRung: Rung = {
  name: "mask",
  applies: (state, { settings }) => planMasks(state.view, settings.mask).items.length > 0,
  async attempt(state, { settings, hooks }) {
    const plan = planMasks(state.view, settings.mask);
    const keep = await hooks.beforeMask(plan);
    if (keep === "cancel") return state;
    const view = withEdits(state.view, maskEdits(plan, keep));
    return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
  },
};
