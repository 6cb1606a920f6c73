extends SceneTree
# Run by Godot: `godot3-server --path FOLDER -s in_godot.gd FORMAT FILE COLUMNS ROWS OUT`. Reads a file of heights as plugins do, an EXR by
# the engine's own Image, headerless ones number by number; writes what it read as floats.

func _init():
	var words = OS.get_cmdline_args()
	var n = words.size()
	var format = words[n - 5]
	var path = words[n - 4]
	var columns = int(words[n - 3])
	var rows = int(words[n - 2])
	var out = File.new()
	out.open(words[n - 1], File.WRITE)
	if format == "exr":
		var image = Image.new()
		if image.load(path) != OK or image.get_width() != columns or image.get_height() != rows:
			quit(2)
			return
		image.lock()
		for y in range(rows):
			for x in range(columns):
				out.store_float(image.get_pixel(x, y).r)
	else:
		var file = File.new()
		file.open(path, File.READ)
		if file.get_len() != 2 * columns * rows:
			quit(3)
			return
		for k in range(columns * rows):
			out.store_float(file.get_16())
	out.close()
	quit()
