import { expect, it } from "vitest";
import { answer, call, digested, run, user } from "./digest-messages.ts";

const edit = (path: string) => call("edit_file", { path, old_string: "a", new_string: "b" }, "ok");

it("is what a colleague taking over would want", () => {
  const sections = digested([
    user(
      "We're migrating our Django app from 3.2 to 4.2. Start with requirements.txt. Heads-up: production is on Python 3.9 and can't be upgraded before June.",
    ),
    ...edit("requirements.txt"),
    ...run(
      "python manage.py test",
      "ERROR: test_login (accounts.tests.LoginTest)\nImproperlyConfigured: CSRF_TRUSTED_ORIGINS must include a scheme\nFAILED (errors=1)\n\nexit status 1",
      true,
    ),
    answer(
      "Here's my plan:\n- [x] bump Django\n- [ ] fix CSRF_TRUSTED_ORIGINS\n- [ ] replace ugettext calls\n- [ ] check celery",
    ),
    user(
      "For the ugettext thing I want gettext_lazy everywhere, no aliases. Ping me before you touch anything in billing/ - that code is under audit.",
    ),
    ...edit("config/settings.py"),
    ...run(
      "python manage.py test",
      "ERROR: test_invoice_pdf (billing.tests.PdfTest)\nModuleNotFoundError: No module named 'weasyprint'\nFAILED (errors=1)\n\nexit status 1",
      true,
    ),
    answer(
      "CSRF_TRUSTED_ORIGINS is fixed: the scheme was missing.\n\n- [x] bump Django\n- [x] fix CSRF_TRUSTED_ORIGINS\n- [ ] replace ugettext calls\n- [ ] check celery",
    ),
    user(
      "staging is at https://stg.rooms.example.com. The customer demo is on 14 March, so feature freeze is the 10th.",
    ),
    answer("Got it."),
    user("hmm demo got moved to 21 March, freeze is the 17th then"),
    answer("Noted."),
  ]);
  expect(sections).toEqual({
    Goal: "- We're migrating our Django app from 3.2 to 4.2. Start with requirements.txt.",
    "Constraints & Preferences": [
      "- Heads-up: production is on Python 3.9 and can't be upgraded before June.",
      "- For the ugettext thing I want gettext_lazy everywhere, no aliases.",
      "- Ping me before you touch anything in billing/ - that code is under audit.",
      "- demo got moved to 21 March, freeze is the 17th then",
    ].join("\n"),
    Progress: "",
    Done: [
      "- “We're migrating our Django app from 3.2 to 4.2. Start with requirements.txt…” — edited requirements.txt; `python manage.py test` failed",
      "- CSRF_TRUSTED_ORIGINS is fixed: the scheme was missing — edited config/settings.py; `python manage.py test` failed",
    ].join("\n"),
    "In Progress": "- “hmm demo got moved to 21 March, freeze is the 17th then”",
    Blocked:
      "- `python manage.py test` failed: ERROR: test_invoice_pdf (billing.tests.PdfTest) · ModuleNotFoundError: No module named 'weasyprint'",
    "Key Decisions": "",
    "Next Steps": "- replace ugettext calls\n- check celery",
    "Critical Context": "- staging is at https://stg.rooms.example.com.",
  });
});
