// draw shows a card as Teams about does, and returns what the renderer complained of.
// The colours and sizes are near those of Teams: what they are there, nobody promises.
const tones = {
  light: {
    page: '#f5f5f5', box: '#fff', line: '#d1d1d1',
    default: ['#242424', '#616161'], accent: ['#5b5fc7', '#5b5fc7'], good: ['#237b4b', '#237b4b'],
    warning: ['#835c00', '#835c00'], attention: ['#c4314b', '#c4314b'],
    under: { default: '#fff', emphasis: '#f0f0f0', accent: '#e8ebfa', good: '#e7f2da', warning: '#fbf6d9', attention: '#fcf4f6' },
  },
  dark: {
    page: '#1f1f1f', box: '#292929', line: '#525252',
    default: ['#fff', '#adadad'], accent: ['#a6a7f5', '#a6a7f5'], good: ['#92c353', '#92c353'],
    warning: ['#f8d22a', '#f8d22a'], attention: ['#f9526b', '#f9526b'],
    under: { default: '#292929', emphasis: '#1f1f1f', accent: '#32325a', good: '#1e3a12', warning: '#463100', attention: '#3e1f25' },
  },
};

function hostConfig(tone) {
  const names = ['default', 'accent', 'good', 'warning', 'attention'];
  const colours = Object.fromEntries(names.map((n) => [n, { default: tone[n][0], subtle: tone[n][1] }]));
  const styles = Object.fromEntries(Object.entries(tone.under).map(([n, under]) => [n, { backgroundColor: under, foregroundColors: colours }]));
  return new AdaptiveCards.HostConfig({
    fontFamily: '"Segoe UI", Inter, Roboto, "DejaVu Sans", sans-serif',
    spacing: { small: 8, default: 12, medium: 16, large: 20, extraLarge: 24, padding: 16 },
    fontSizes: { small: 12, default: 14, medium: 14, large: 18, extraLarge: 24 },
    fontWeights: { lighter: 200, default: 400, bolder: 600 },
    supportsInteractivity: true,
    containerStyles: styles,
    actions: { maxActions: 6, spacing: 'default', buttonSpacing: 8, actionsOrientation: 'horizontal', actionAlignment: 'left' },
  });
}

function draw(look, width, message) {
  const tone = tones[look];
  document.body.style.cssText = `margin: 0; padding: 16px; background: ${tone.page}; color: ${tone.default[0]}`;
  const faults = [];
  if (message.type !== 'message' || message.attachments.length !== 1) faults.push('no message with one card');
  AdaptiveCards.AdaptiveCard.onProcessMarkdown = (text, result) => {
    result.outputHtml = markdownit().render(text);
    result.didProcess = true;
  };
  const card = new AdaptiveCards.AdaptiveCard();
  card.hostConfig = hostConfig(tone);
  const context = new AdaptiveCards.SerializationContext(AdaptiveCards.Versions.v1_5);
  card.parse(message.attachments[0].content, context);
  for (let i = 0; i < context.eventCount; i++) faults.push('parse: ' + context.getEventAt(i).message);
  for (const e of card.validateProperties().validationEvents) faults.push('validation: ' + e.message);
  const box = document.createElement('div');
  box.className = 'box';
  box.style.cssText = `box-sizing: border-box; max-width: ${width}px; overflow: hidden; border: 1px solid ${tone.line}; border-radius: 6px; background: ${tone.box}`;
  box.append(card.render());
  for (const b of box.querySelectorAll('.ac-pushButton')) {
    b.style.cssText += `; font: 600 14px "Segoe UI", Inter, sans-serif; padding: 6px 12px; border: 1px solid ${tone.line}; border-radius: 4px; background: transparent; color: inherit`;
  }
  document.body.replaceChildren(box);
  return faults;
}
