import type { Lexicon } from "./lexicon.ts";

export const it: Lexicon = {
  stopwords:
    "il lo la i gli le un uno una di del dello della dei degli delle e ed o ma a al alla ai in nel nella con senza per da dal dalla su sul sulla e sono era erano essere questo questa questi quello quella io tu lui lei noi voi loro mio mia nostro nostra tuo suo mi ti si ci vi che chi come quando dove perche se allora non piu molto anche tutto tutti tutta tutte c'e ha hanno ho abbiamo fu sara puo possono deve fare fa ok qui ora adesso solo grazie favore poi",
  beforeOld:
    "invece di|invece del|al posto di|al posto del|piuttosto che|anziche|non|non piu|da|dal|sostituisci|sostituire|rinomina|dimentica|era|prima",
  afterOld: "e occupata|e occupato|non va|non funziona|non piu",
  cues: {
    forbid:
      "mai|non deve|non devono|non devi|non dobbiamo|non dovrebbe|non si deve|non si devono|non si puo|non si possono|non possiamo|non puo|non possono|non toccare|non toccate|non usare|non usate|non cambiare|non modificare|non aggiungere|non mettere|non fare|non cancellare|non voglio|non vogliamo|vietat~|proibit~|vieta|evita|evitare|evitate|per nessun motivo|in nessun caso|assolutamente no|niente|nessun|nessuna|nessuno|basta con|smetti di|smettila|senza toccare|senza cambiare|senza modificare|senza aggiungere|senza rompere|intatt~|cosi com'e|non e permess~|non consentit~|fuori discussione",
    require:
      "deve|devono|devi|dobbiamo|dovra|dovranno|bisogna|occorre|sempre|obbligatori~|tassativ~|indispensabile|esclusivamente|unicamente|soltanto|solo ed esclusivamente|usa solo|solo usare|nient'altro che|ogni volta|senza eccezioni|al massimo|massimo|al piu|almeno|minimo|non piu di|meno di|limitat~ a|limite di|attieniti|attenersi|rispetta~|rispettare|conforme|esige|requisito|requisiti|richiede|richiest~|necessari~|fondamentale|essenziale|regola|regole|norma|politica|convenzione|retrocompatibile|vincolo|vincoli|licenza|gdpr|in ogni caso|a tutti i costi",
    ought:
      "dovrebbe|dovrebbero|serve|servono|assicurati|assicurarsi|attenzione|per favore|voglio|vogliamo|ogni|importante|solo|fai in modo",
    prefer:
      "meglio in|meglio con|meglio se|meglio|preferisco|preferiamo|prefer~|preferenza|di preferenza|preferibilmente|mi piace|mi piacciono|mi piacerebbe|ci piace|non mi piace|non mi piacciono|vorrei|vorremmo|se possibile|possibilmente|idealmente|odio|detesto|mi da fastidio|non sono un fan|fan di|abituat~|piu pulit~|piu leggibile|rispondi|rispondi in|sii breve|dammi del tu|il mio stile|il nostro stile|personalmente|meglio se",
    decide:
      "andiamo con|usiamo|useremo|prendiamo|restiamo su|rimaniamo su|teniamo|deciso|abbiamo deciso|decidiamo|decisione|scegliamo|scelto|scelgo|optiamo|opto|d'accordo su|concordato|chiamiamolo|chiamiamo|si chiamera|si chiama|facciamo|faremo|definitivo|conclusione|approccio|adottiamo|utilizziamo|utilizzeremo|mettiamo|andra in|va in|usero",
    change:
      "cambio:|cambio di idea|cambio di programma|cambiato idea|ho cambiato|alla fine|contrordine|invece di|invece del|invece|al posto di|al posto del|piuttosto che|anziche|ripensandoci|a pensarci bene|cambiato idea|cambio di programma|cambio di piani|alla fine|in realta|non piu|correzione|mi sono sbagliat~|ho sbagliato|errore mio|cambia~|cambiare|cambiamo|passiamo a|passare a|passa a|rinomina~|rinominare|sostitui~|sostituire|migra~|migrare|aumenta~|abbassa~|torniamo a|tornare a|torna a|dimentica|dimenticati|lascia perdere|scarta~|nuovo piano|d'ora in poi|da ora in poi|da adesso|ora e|adesso e|ora si chiama|bensi|annulla~",
    shift: "ora|adesso|nel frattempo|oggi|attualmente|aggiornamento|aspetta|hmm|no,|scusa|meglio",
    revoke:
      "dimentica|dimenticati|ignora|lascia perdere|scarta~|non serve piu|non e piu necessari~|non vale piu|non si applica piu|annullat~|cancellat~|di nuovo permess~|si puo di nuovo|obsolet~",
    fact: "nota:|nota che|tieni presente|tieni conto|per tua informazione|per la cronaca|a proposito|tra l'altro|fra l'altro|fyi|ricorda che|ricordati|ricorda|sappi che|risulta che|si scopre|causa|la causa|dovuto a|il motivo|motivo|la ragione|perche|il problema e|il problema era|sta in|si trova|si trovano|gira su|girano su|ascolta su|in ascolto|ospitat~|raggiungibile|si chiama|si chiamano|punta a|appartiene|responsabile|contatto|dipende da|di default|predefinit~|salvat~|memorizzat~|credenziali|password|importante|limite|quota|endpoint|ticket|impiega|misurat~|significa|vuol dire|soluzione|scoperto|trovato|scade",
    todo: "todo:|da fare|piu tardi|dopo|poi|in seguito|piu avanti|prima o poi|non dimenticare|non dimenticarti|non scordare|ricordati di|ricordami|manca ancora|mancano|resta da|restano|rimane da|bisogna ancora|dobbiamo ancora|non ancora|prossimo passo|prossimi passi|in sospeso|quando hai finito|una volta|prima del rilascio|prima di pubblicare|domani|settimana prossima|bisognera|dovremo",
    fixed:
      "risolt~|corrett~|sistemat~|riparat~|aggiustat~|ora funziona|adesso funziona|funziona di nuovo|funzionano|ora passa|ora passano|passano tutti|tutto verde|non fallisce piu|non succede piu|sparit~|scompars~|con successo|riuscit~|compila di nuovo",
    broken:
      "fallisce|falliscono|fallito|rotto|rotta|rotti|non funziona|ancora non funziona|continua a fallire|non va|non compila|si blocca|bloccat~|crash~|va in crash|errore|errori|bug|non risolt~|irrisolt~|in attesa di|non so perche|instabile|timeout|non riesco|non e riuscito|impossibile|rifiutat~|negat~|eccezione|sbagliat~",
    did: "aggiunt~|corrett~|rimoss~|aggiornat~|creat~|implementat~|rinominat~|spostat~|sostituit~|scritt~|modificat~|cambiat~|migrat~|eliminat~|documentat~|configurat~|installat~|completat~|fatto|testat~|pubblicat~|finito",
    idiom:
      "deve essere|dev'essere|deve aver~|non ho mai|mai capito|mai visto|sara stat~|nessun problema|non c'e problema|non c'e fretta|non preoccuparti|non ti preoccupare|non importa|non so|non lo so|non credo|non penso|non capisco|non sono sicur~|non male|nessuna idea|senza dubbio|devo dire|devo ammettere|bisogna ammettere|deve essere|dev'essere|sempre un piacere|come sempre|da sempre|ho sempre|mai visto|mai pensato|mai capito|non ho mai|meglio tardi che mai|perche no|o no|piu o meno|ho bisogno di un caffe|serve un caffe|prego|grazie|ottimo lavoro|ben fatto|fa niente",
    reports:
      "il readme dice|la documentazione dice|la doc dice|secondo|stando a|il log dice|il messaggio dice|l'errore dice|c'e scritto|il linter|il compilatore|si lamenta|citazione|cito|il tutorial|un articolo",
  },
};
