data.fields = data.fields.map(readField);
// In headings of tables: the last word of the path, if no other field has it.
const lastWord = field => field.name.split(".").pop();
for (const field of data.fields)
  field.heading =
      data.fields.filter(f => lastWord(f) === lastWord(field)).length === 1 ? lastWord(field) : field.name;
data.axes = data.fields.filter(f => f.words.length > 1);
data.rows = d3.range(data.point.length);
data.fits = data.rows.map(row => data.over.words[data.over.of[row]] === "");
plotSection(data);
fieldSection(data);
pointSection(data);
reasonSection(data);
